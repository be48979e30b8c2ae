//! The client against real sockets on loopback that answer, break off, stall and lie as a script says.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

mod answers;
mod connection;
mod function;
mod request;
mod secrets;
mod server;
mod tls;
