//! Why a call failed.

use crate::sys::{self, *};
use std::fmt;

/// The ways in which a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Status {
    /// The side that answers failed internally.
    Internal,
    /// The two sides share no version.
    Version,
    /// An argument, a config or a body is malformed.
    Invalid,
    /// Well-formed, but not supported.
    Unsupported,
    /// Not now: there is no room, or a credential is being fetched. Try again later.
    Again,
    /// The deadline passed; the outcome is unknown.
    Timeout,
    /// A signature, a password or a token is wrong.
    Auth,
    /// It does not exist.
    NotFound,
    /// It exceeds a limit.
    TooLarge,
    /// No connection was made, so nothing was sent.
    Unreachable,
    /// The connection broke; the outcome is unknown.
    Lost,
    /// The host is shutting down, or the instance is stopped.
    Stopping,
}

impl Status {
    const ALL: [(Status, sbx_status, &'static str); 12] = [
        (Status::Internal, SBX_E_INTERNAL, "an internal fault"),
        (Status::Version, SBX_E_VERSION, "the versions do not fit"),
        (Status::Invalid, SBX_E_INVALID, "it is malformed"),
        (Status::Unsupported, SBX_E_UNSUPPORTED, "the host does not offer it"),
        (Status::Again, SBX_E_AGAIN, "there is no room for it now"),
        (Status::Timeout, SBX_E_TIMEOUT, "it took too long"),
        (Status::Auth, SBX_E_AUTH, "it is not authorised"),
        (Status::NotFound, SBX_E_NOT_FOUND, "it is not there"),
        (Status::TooLarge, SBX_E_TOO_LARGE, "it is too large"),
        (Status::Unreachable, SBX_E_UNREACHABLE, "it cannot be reached"),
        (Status::Lost, SBX_E_LOST, "the connection was lost"),
        (Status::Stopping, SBX_E_STOPPING, "the host is stopping"),
    ];

    pub(crate) fn code(self) -> sbx_status {
        Status::ALL.iter().find(|one| one.0 == self).map_or(SBX_E_INTERNAL, |one| one.1)
    }

    /// `None` means success. An unknown code counts as internal.
    pub(crate) fn of(code: sbx_status) -> Option<Status> {
        if code == SBX_OK {
            return None;
        }
        let known = Status::ALL.iter().find(|one| one.1 == code);
        Some(known.map_or(Status::Internal, |one| one.0))
    }

    fn words(self) -> &'static str {
        Status::ALL.iter().find(|one| one.0 == self).map_or("", |one| one.2)
    }
}

/// A failure with a message for people.
///
/// Never put a secret, a device token or a message body into the message: the host logs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The kind of failure.
    pub status: Status,
    /// For people; cut after 243 bytes.
    pub message: String,
}

/// The result of a call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Makes an error.
    pub fn new(status: Status, message: impl Into<String>) -> Error {
        Error { status, message: message.into() }
    }

    /// The plugin failed internally.
    pub fn internal(message: impl Into<String>) -> Error {
        Error::new(Status::Internal, message)
    }

    /// An argument, a config or a body is malformed.
    pub fn invalid(message: impl Into<String>) -> Error {
        Error::new(Status::Invalid, message)
    }

    /// Well-formed, but not supported.
    pub fn unsupported(message: impl Into<String>) -> Error {
        Error::new(Status::Unsupported, message)
    }

    /// Not now; try again later.
    pub fn again(message: impl Into<String>) -> Error {
        Error::new(Status::Again, message)
    }

    /// A signature, a password or a token is wrong.
    pub fn auth(message: impl Into<String>) -> Error {
        Error::new(Status::Auth, message)
    }

    /// It does not exist.
    pub fn not_found(message: impl Into<String>) -> Error {
        Error::new(Status::NotFound, message)
    }

    /// `Ok`, or an error with a message for the status.
    pub(crate) fn check(code: sbx_status) -> Result<()> {
        match Status::of(code) {
            None => Ok(()),
            Some(status) => Err(Error::new(status, status.words())),
        }
    }

    /// Like `check`, with the host's message if there is one.
    pub(crate) fn check_with(code: sbx_status, error: &sbx_error) -> Result<()> {
        Error::check(code).map_err(|fault| {
            let bytes: Vec<u8> =
                error.message.iter().take_while(|c| **c != 0).map(|c| *c as u8).collect();
            match bytes.is_empty() {
                true => fault,
                false => Error::new(fault.status, String::from_utf8_lossy(&bytes)),
            }
        })
    }

    /// Writes the error where the host reads it.
    ///
    /// # Safety
    /// `error` is null or a struct that the host made.
    pub(crate) unsafe fn report(&self, error: *mut sbx_error) -> sbx_status {
        let code = self.status.code();
        // Every field exists since the first version, so a shorter struct is not written.
        let size = std::mem::size_of::<sbx_error>();
        if !error.is_null() && (*error).struct_size as usize >= size {
            *error = self.raw((*error).struct_size);
        }
        code
    }

    pub(crate) fn raw(&self, struct_size: u32) -> sbx_error {
        let mut out: sbx_error = sys::fresh();
        out.struct_size = struct_size;
        out.status = self.status.code();
        let mut end = self.message.len().min(out.message.len() - 1);
        while !self.message.is_char_boundary(end) {
            end -= 1;
        }
        for (to, from) in out.message.iter_mut().zip(&self.message.as_bytes()[..end]) {
            *to = *from as std::os::raw::c_char;
        }
        out
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
