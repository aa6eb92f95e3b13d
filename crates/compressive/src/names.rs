//! One list for each closed set of names.
//!
//! [`named!`](crate::names::named) turns a list of variants and names into `ALL`, `name`, `Display`,
//! `FromStr` and serde's two traits. The program, Python, the collector and the documentation take their
//! lists from [`Named::ALL`], so a variant that is listed is known everywhere, and one that is not listed
//! does not compile.

use crate::error::Error;

/// A closed set of values that users write by name.
pub trait Named: Copy + PartialEq + 'static {
    /// What one of them is called, with its article: "a task".
    const WHAT: &'static str;
    /// Every value, in the order in which lists show them.
    const ALL: &'static [Self];

    /// The stable name, as it stands in files and as users write it.
    fn name(self) -> &'static str;

    /// One line about it, for help texts; empty where the name says it all.
    fn about(self) -> &'static str;

    /// The value of a name.
    ///
    /// # Errors
    /// [`Error::UnknownName`], which lists the names there are.
    fn from_name(name: &str) -> Result<Self, Error> {
        Self::ALL.iter().copied().find(|value| value.name() == name).ok_or_else(|| Error::UnknownName {
            what: Self::WHAT,
            found: name.into(),
            names: Self::names(),
        })
    }

    /// All names, in the same order.
    fn names() -> Vec<&'static str> {
        Self::ALL.iter().map(|value| value.name()).collect()
    }
}

/// Implements [`Named`], `Display`, `FromStr`, `Serialize` and `Deserialize` for an enum of unit variants. An
/// entry is `Variant => "name"`, or `Variant => "name": "one line about it"`; the caller's crate has serde.
#[macro_export]
macro_rules! named {
    ($type:ty, $what:literal, { $($variant:ident => $name:literal $(: $about:literal)?),+ $(,)? }) => {
        impl $type {
            /// The stable name, as it stands in files and as users write it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(<$type>::$variant => $name),+
                }
            }
        }

        impl $crate::Named for $type {
            const WHAT: &'static str = $what;
            const ALL: &'static [Self] = &[$(<$type>::$variant),+];

            fn name(self) -> &'static str {
                <$type>::name(self)
            }

            fn about(self) -> &'static str {
                match self {
                    $(<$type>::$variant => concat!($($about)?)),+
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::Error;

            fn from_str(name: &str) -> std::result::Result<Self, Self::Err> {
                <$type as $crate::Named>::from_name(name)
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
                let name = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
                <$type as $crate::Named>::from_name(&name).map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use named;

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Fruit {
        Apple,
        SourCherry,
    }

    named!(Fruit, "a fruit", { Apple => "apple": "keeps till spring", SourCherry => "sour-cherry" });

    #[test]
    fn every_name_reads_back_in_every_way() {
        assert_eq!(Fruit::names(), ["apple", "sour-cherry"]);
        for fruit in Fruit::ALL.iter().copied() {
            assert_eq!(fruit.name().parse(), Ok(fruit));
            let json = serde_json::to_string(&fruit).unwrap();
            assert_eq!(json, format!("\"{fruit}\""));
            assert_eq!(serde_json::from_str::<Fruit>(&json).unwrap(), fruit);
        }
        assert_eq!(
            Fruit::ALL.iter().map(|fruit| fruit.about()).collect::<Vec<_>>(),
            ["keeps till spring", ""]
        );
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let message = "pear".parse::<Fruit>().unwrap_err().to_string();
        assert_eq!(message, "`pear` is not a fruit: choose from apple, sour-cherry");
        assert!(serde_json::from_str::<Fruit>("\"pear\"").unwrap_err().to_string().contains("sour-cherry"));
    }
}
