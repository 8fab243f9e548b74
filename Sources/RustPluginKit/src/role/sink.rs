//! A sink of the host.

use crate::error::{Error, Result};
use crate::sys::{self, sbx_status, Growing};
use std::marker::PhantomData;

/// A sink of the host, with its functions as far as both sides know them; lives for 'a.
pub(super) struct Sink<'a, T> {
    raw: *mut T,
    table: T,
    borrowed: PhantomData<&'a mut T>,
}

impl<'a, T: Growing> Sink<'a, T> {
    /// # Safety
    /// The sink is null or the host's, and lives for 'a.
    pub unsafe fn new(raw: *mut T) -> Result<Sink<'a, T>> {
        if raw.is_null() {
            return Err(Error::internal("a role was called without a sink"));
        }
        Ok(Sink { raw, table: sys::read(raw), borrowed: PhantomData })
    }

    /// Calls a function of the sink; `refusal` says what it means if the host does not take it.
    pub fn call<F>(
        &self,
        function: impl FnOnce(&T) -> Option<F>,
        refusal: &str,
        call: impl FnOnce(F, *mut T) -> sbx_status,
    ) -> Result<()> {
        let function = function(&self.table)
            .ok_or_else(|| Error::unsupported("the host's sink does not offer it"))?;
        Error::check(call(function, self.raw)).map_err(|fault| Error::new(fault.status, refusal))
    }

    /// The same sink for as long as the host says.
    ///
    /// # Safety
    /// The host keeps it that long.
    pub unsafe fn kept<'b>(self) -> Sink<'b, T> {
        Sink { raw: self.raw, table: self.table, borrowed: PhantomData }
    }
}
