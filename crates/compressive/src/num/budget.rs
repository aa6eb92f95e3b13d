//! How long work may take. The core has no clock: whoever has one says when the time is up.
//!
//! A budget is given with the parameters of a task, and holds for all that the task does on its thread
//! ([`Budget::within`]): long loops ask [`spent`] after each round, so that none of the functions between has
//! to hand it on. Each loop does one round at least, and what was best by then is the result.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// When to stop looking for a better model, by a deadline, a flag, or both. Clones are the same budget.
#[derive(Clone, Default)]
pub struct Budget(Option<Arc<Limit>>);

struct Limit {
    spent: Box<dyn Fn() -> bool + Send + Sync>,
    cut: AtomicBool,
}

thread_local! {
    static CURRENT: RefCell<Budget> = RefCell::new(Budget::default());
}

/// Whether the work of this thread should come to an end.
pub(crate) fn spent() -> bool {
    CURRENT.with_borrow(Budget::is_spent)
}

/// The budget of this thread, to go on with it on another.
pub(crate) fn current() -> Budget {
    CURRENT.with_borrow(Budget::clone)
}

impl Budget {
    /// Ends when `spent` says so, which is asked often and must be quick.
    pub fn new(spent: impl Fn() -> bool + Send + Sync + 'static) -> Budget {
        Budget(Some(Arc::new(Limit { spent: Box::new(spent), cut: AtomicBool::new(false) })))
    }

    /// Whether some loop was told to stop.
    pub fn was_cut(&self) -> bool {
        self.0.as_ref().is_some_and(|limit| limit.cut.load(Ordering::Relaxed))
    }

    /// Does the work within this budget.
    pub(crate) fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = Outer(CURRENT.replace(self.clone()));
        let result = work();
        drop(before);
        result
    }

    fn is_spent(&self) -> bool {
        let Some(limit) = &self.0 else { return false };
        // Once cut, all loops are.
        let spent = limit.cut.load(Ordering::Relaxed) || (limit.spent)();
        if spent {
            limit.cut.store(true, Ordering::Relaxed);
        }
        spent
    }
}

/// Puts the budget before back, also after a panic.
struct Outer(Budget);

impl Drop for Outer {
    fn drop(&mut self) {
        CURRENT.set(std::mem::take(&mut self.0));
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (&self.0, self.was_cut()) {
            (None, _) => "Budget(unlimited)",
            (Some(_), false) => "Budget(limited)",
            (Some(_), true) => "Budget(cut)",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_holds_within_its_work_and_stays_cut() {
        let asked = Arc::new(AtomicBool::new(false));
        let flag = asked.clone();
        let budget = Budget::new(move || flag.load(Ordering::Relaxed));
        assert!(!spent() && !budget.within(spent) && !budget.was_cut());
        asked.store(true, Ordering::Relaxed);
        assert!(budget.within(|| Budget::default().within(|| !spent()) && spent()));
        asked.store(false, Ordering::Relaxed);
        assert!(budget.within(spent) && budget.was_cut() && !spent());
    }
}
