//! The usual ways to lead an agent to the scripted model, and the search for one that suffices.

use std::collections::BTreeMap;

use super::{PlanError, built_in_profiles};
use crate::edition::Bundle;
use crate::profile::Profile;
use crate::requirement::Party;

/// Settings that may lead an agent to the scripted model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelSettings {
    /// What they are, for people: "the variables of OpenAI".
    pub name: String,
    /// Environment variables, with the places of a profile.
    pub env: BTreeMap<String, String>,
    /// Files in HOME: relative path and text, with the places of a profile.
    pub home: BTreeMap<String, String>,
}

/// What an agent does with a prompt that asks for a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reaction {
    /// Nothing that shows a model.
    NoModel,
    /// It requires a login.
    LoginRequired,
    /// It asks the scripted model, and calls no tool.
    AsksModel,
    /// It calls a tool.
    CallsTool,
}

/// The variables of the libraries for the three common APIs.
const VARIABLES: [(&str, &[(&str, &str)]); 3] = [
    (
        "the variables of OpenAI",
        &[("OPENAI_BASE_URL", "{model}/v1"), ("OPENAI_API_KEY", "none"), ("OPENAI_MODEL", "acp-scripted")],
    ),
    ("the variables of Anthropic", &[("ANTHROPIC_BASE_URL", "{model}"), ("ANTHROPIC_API_KEY", "none")]),
    ("the variables of Gemini", &[("GOOGLE_GEMINI_BASE_URL", "{model}"), ("GEMINI_API_KEY", "none")]),
];

/// Returns the variables that most agents read, by their API.
pub fn common_variables() -> Vec<ModelSettings> {
    let of = |(name, variables): (&str, &[(&str, &str)])| ModelSettings {
        name: name.to_owned(),
        env: variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        home: BTreeMap::new(),
    };
    VARIABLES.map(of).into()
}

/// Returns the settings of the built-in profiles, which also suit programs made of the same code.
///
/// # Errors
///
/// A built-in profile has mistakes.
pub fn settings_of_profiles(bundle: &'static Bundle) -> Result<Vec<ModelSettings>, PlanError> {
    let of = |profile: Profile| ModelSettings {
        name: format!("the settings of {}", profile.title),
        env: profile.env,
        home: profile.home,
    };
    let leads = |settings: &ModelSettings| {
        settings.env.values().chain(settings.home.values()).any(|text| text.contains("{model}"))
    };
    let agents = built_in_profiles(bundle)?.0.into_iter().filter(|profile| profile.kind == Party::Agent);
    Ok(agents.map(of).filter(leads).collect())
}

/// Finds the settings that suffice, by the reaction of the agent to several of them at once; `None` if all of them
/// together do not lead to the model.
///
/// That takes one start of the agent if none suffices, and otherwise at most twice the logarithm of their number more.
/// Where an agent needs two of them, these stay together.
///
/// # Errors
///
/// Those of `react`.
pub fn find_settings<E>(
    all: &[ModelSettings],
    mut react: impl FnMut(&ModelSettings) -> Result<Reaction, E>,
) -> Result<Option<(ModelSettings, Reaction)>, E> {
    let wanted = react(&joined(all))?;
    if wanted < Reaction::AsksModel {
        return Ok(None);
    }
    let mut left = all;
    while left.len() > 1 {
        let (first, second) = left.split_at(left.len() / 2);
        if react(&joined(first))? >= wanted {
            left = first;
        } else if react(&joined(second))? >= wanted {
            left = second;
        } else {
            break;
        }
    }
    Ok(Some((joined(left), wanted)))
}

/// Joins settings; where two set the same variable or file, the first counts.
fn joined(all: &[ModelSettings]) -> ModelSettings {
    let mut joined = ModelSettings::default();
    for settings in all.iter().rev() {
        joined.env.extend(settings.env.clone());
        joined.home.extend(settings.home.clone());
    }
    let names: Vec<&str> = all.iter().map(|settings| settings.name.as_str()).collect();
    joined.name = names.join(", ");
    joined
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::edition::V1;

    /// Settings with one variable each.
    fn settings(names: &[&str]) -> Vec<ModelSettings> {
        let of = |name: &&str| ModelSettings {
            name: (*name).to_owned(),
            env: [((*name).to_owned(), "{model}".to_owned())].into(),
            home: BTreeMap::new(),
        };
        names.iter().map(of).collect()
    }

    /// Searches with an agent that calls its tool if it has these variables; also returns the number of its starts.
    fn search(all: &[ModelSettings], needs: &[&str]) -> (Option<String>, usize) {
        let mut starts = 0;
        let react = |settings: &ModelSettings| {
            starts += 1;
            let calls = needs.iter().all(|name| settings.env.contains_key(*name));
            Ok::<_, Infallible>(if calls { Reaction::CallsTool } else { Reaction::NoModel })
        };
        let Ok(found) = find_settings(all, react);
        (found.map(|(settings, _)| settings.name), starts)
    }

    #[test]
    fn finds_what_suffices_with_few_starts() {
        let all = settings(&["a", "b", "c", "d", "e", "f", "g", "h"]);
        for (name, starts) in [("a", 4), ("d", 6), ("e", 5), ("h", 7)] {
            assert_eq!(search(&all, &[name]), (Some(name.to_owned()), starts));
        }
        assert_eq!(search(&all, &["z"]), (None, 1));
        assert_eq!(search(&all, &["c", "d"]).0.as_deref(), Some("c, d"));
    }

    #[test]
    fn profiles_lead_to_the_model_by_variables_and_files() {
        let all = settings_of_profiles(&V1).expect("the built-in profiles are correct");
        assert!(all.iter().any(|settings| settings.home.is_empty()));
        assert!(all.iter().any(|settings| settings.home.values().any(|text| text.contains("{model}"))));
    }
}
