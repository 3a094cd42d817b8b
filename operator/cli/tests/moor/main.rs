//! The program itself against a server that answers what the test says.

#[cfg(test)]
mod apiserver;
#[cfg(test)]
mod bed;
#[cfg(test)]
mod chats;
#[cfg(test)]
mod files;
#[cfg(test)]
mod find;
#[cfg(test)]
mod login;
#[cfg(test)]
mod people;
#[cfg(test)]
mod pod;
#[cfg(test)]
mod watch;
