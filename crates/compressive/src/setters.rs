//! One method for each field of a struct of parameters.
//!
//! Such structs are `#[non_exhaustive]`, so that a new field breaks nobody: other crates write
//! `LearnParams::new(Task::Gmm, 5).seed(7)`, or change the fields of a default.

/// Gives a struct a method for each listed field that sets it: `field: u64`, or `field: impl Into<Type>`.
macro_rules! setters {
    ($of:ident { $($(#[$doc:meta])* $field:ident: $given:ty),+ $(,)? }) => {
        impl $of {
            $($(#[$doc])* #[must_use] pub fn $field(mut self, $field: $given) -> $of {
                self.$field = $field.into();
                self
            })+
        }
    };
}
pub(crate) use setters;
