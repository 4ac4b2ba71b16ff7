//! What a person does by hand who operates a client: the folder with their agent, what they are asked to do, and their keys.

mod agent_folder;
mod order;
mod person;

pub use agent_folder::{AgentFolder, AgentFolderError};
pub use order::order_for_a_person;
pub use person::{Key, Keys, Person};
