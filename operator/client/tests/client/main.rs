//! The client against a TLS server that answers what the test says.

#[cfg(test)]
mod board;
#[cfg(test)]
mod calls;
