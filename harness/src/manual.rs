//! Support for a person who operates a client by hand: the folder with their agent, their instructions, and their keys.

mod agent_folder;
mod order;
mod person;

pub use agent_folder::{AgentFolder, AgentFolderError};
pub use order::order_for_a_person;
pub use person::{Key, Keys, Person};
