//! How both peers declare, name and list their faults.

/// Declares the faults of a peer together with their command line names and one-line explanations.
macro_rules! faults {
    ($(#[$about:meta])* $($fault:ident $name:literal $line:literal)*) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Fault {
            $(#[doc = $line] $fault,)*
        }

        impl Fault {
            /// Lists every fault.
            pub const ALL: &'static [Self] = &[$(Self::$fault,)*];

            /// Returns the name used on the command line.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$fault => $name,)* }
            }

            /// Returns one line that says what the peer does wrong.
            #[must_use]
            pub const fn line(self) -> &'static str {
                match self { $(Self::$fault => $line,)* }
            }

            /// Returns the fault with a command line name.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|fault| fault.name() == name)
            }

            /// Reads a name from the command line.
            pub(crate) fn parser() -> impl clap::builder::TypedValueParser<Value = Self> {
                use clap::builder::{PossibleValuesParser, TypedValueParser as _};

                PossibleValuesParser::new(Self::ALL.iter().map(|fault| fault.name()))
                    .try_map(|name| Self::from_name(&name).ok_or("unknown fault"))
            }

            /// Prints all names, each with its line.
            pub(crate) fn print_all() {
                crate::faults::print(Self::ALL.iter().map(|fault| (fault.name(), fault.line())));
            }
        }
    };
}

/// Prints names, each with its line.
#[expect(clippy::print_stdout, reason = "the list of faults is what the user asked for")]
pub(crate) fn print(faults: impl Iterator<Item = (&'static str, &'static str)>) {
    faults.for_each(|(name, line)| println!("{name:28} {line}"));
}
