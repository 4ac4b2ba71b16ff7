//! Chooses the sites of a transformation by a seed.

use std::collections::BTreeSet;

use fastrand::Rng;

/// Decides for each site of a trace whether the transformation changes it.
///
/// A transformation asks [`Choices::site`] once for every place that it could change, in an order that does not depend
/// on the answers. So a site has the same number and the same random values in every run with the same seed, and a
/// failing variant can be repeated with fewer sites.
pub struct Choices {
    seed: u64,
    wanted: Wanted,
    next: usize,
    /// The chosen sites so far.
    pub taken: Vec<usize>,
}

enum Wanted {
    /// About one site in this many.
    OneIn(u32),
    /// Exactly these.
    These(BTreeSet<usize>),
}

impl Choices {
    /// Chooses about one site in `one_in`.
    pub const fn random(seed: u64, one_in: u32) -> Self {
        Self { seed, wanted: Wanted::OneIn(one_in), next: 0, taken: Vec::new() }
    }

    /// Chooses only these sites, with the same random values as under [`Choices::random`].
    pub fn these(seed: u64, sites: impl IntoIterator<Item = usize>) -> Self {
        Self { seed, wanted: Wanted::These(sites.into_iter().collect()), next: 0, taken: Vec::new() }
    }

    /// Returns random values for the next site, if it is chosen.
    pub fn site(&mut self) -> Option<Rng> {
        let site = self.next;
        self.next += 1;
        let mut rng = Rng::with_seed(mix(self.seed, site as u64));
        let chosen = match &self.wanted {
            Wanted::OneIn(one_in) => rng.u32(..*one_in) == 0,
            Wanted::These(sites) => {
                rng.u32(..1);
                sites.contains(&site)
            }
        };
        if chosen {
            self.taken.push(site);
        }
        chosen.then_some(rng)
    }

    /// Returns random values for the whole trace.
    pub fn whole(&self) -> Rng {
        Rng::with_seed(mix(self.seed, u64::MAX))
    }
}

/// Derives a seed for a part from another seed.
pub const fn mix(seed: u64, part: u64) -> u64 {
    // The finalizer of SplitMix64; neighbouring parts get unrelated seeds.
    let mut mixed = seed ^ part.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// Returns the seed of a text.
pub fn seed_of(text: &str) -> u64 {
    text.bytes().fold(0, |seed, byte| mix(seed, u64::from(byte)))
}
