//! Ordinary REST calls.

use super::{answer, Host};
use crate::error::{Error, Result, Status};
use crate::json::{Call, Json};
use crate::memory::{bytes, pairs, raw, raw_bytes, Pair};
use crate::sys::{self, *};
use std::os::raw::c_void;

/// An ordinary REST call; pushes go through the role `SendHttp`.
#[derive(Clone, Copy, Debug, Default)]
pub struct HttpCall<'a> {
    /// `POST`
    pub method: &'a str,
    /// An absolute URL.
    pub url: &'a str,
    /// Header fields.
    pub headers: &'a [Pair<'a>],
    /// Body.
    pub body: &'a [u8],
    /// PEM file of trusted roots; empty: those of the system.
    pub ca_file: &'a str,
    /// Limit for the whole call; 0: 10 s.
    pub timeout_ms: u32,
    /// How many redirects to follow.
    pub redirects_max: u32,
    /// Refuse loopback, link-local and private addresses, after DNS; for URLs from others.
    pub refuses_private_addresses: bool,
}

impl HttpCall<'_> {
    fn raw(&self) -> sbx_http_call {
        sbx_http_call {
            flags: if self.refuses_private_addresses { SBX_HTTP_NO_PRIVATE } else { 0 },
            method: raw(self.method),
            url: raw(self.url),
            headers: Pair::raw(self.headers),
            header_count: self.headers.len(),
            body: raw_bytes(self.body),
            ca_file: raw(self.ca_file),
            timeout_ms: self.timeout_ms,
            redirects_max: self.redirects_max,
            ..sys::fresh()
        }
    }
}

/// The answer to a REST call; lives until the closure that receives it returns.
pub struct HttpAnswer<'a> {
    raw: sbx_http_answer,
    call: Call<'a>,
}

impl<'a> HttpAnswer<'a> {
    /// 200, 401, ...
    pub fn status(&self) -> u32 {
        self.raw.http_status
    }

    /// The first value of a header field; names are in lower case.
    pub fn header(&self, name: &str) -> Option<&'a str> {
        Pair::find(self.headers(), name)
    }

    /// Header fields.
    pub fn headers(&self) -> &'a [Pair<'a>] {
        // Borrowed for 'a.
        unsafe { pairs(self.raw.headers, self.raw.header_count) }
    }

    /// The body.
    pub fn body(&self) -> &'a [u8] {
        unsafe { bytes(self.raw.body) }
    }

    /// The body, parsed.
    pub fn json(&self) -> Result<Json<'a>> {
        self.call.parse(self.body())
    }

    /// # Safety
    /// `answer` is borrowed for 'a.
    unsafe fn read(answer: *const sbx_http_answer, host: &'a Host) -> Result<HttpAnswer<'a>> {
        if answer.is_null() {
            return Err(Error::internal("the host gave no answer"));
        }
        let raw = sys::read(answer);
        Error::check(raw.status)?;
        Ok(HttpAnswer { raw, call: Call::new(host) })
    }
}

impl Host {
    /// Makes a REST call. `done` gets the answer once: on a worker thread, or before this returns
    /// if the host rejects the call.
    pub fn http<F>(&self, call: &HttpCall<'_>, done: F)
    where
        F: for<'a> FnOnce(Result<HttpAnswer<'a>>) + Send + 'static,
    {
        let (given, host) = (call.raw(), self.clone());
        let done = move |answer: Result<Answer>| match answer {
            Ok(answer) => done(unsafe { HttpAnswer::read(answer, &host) }),
            Err(fault) => done(Err(fault)),
        };
        self.ask_later(self.tables().http.submit, done, |submit, host, context| unsafe {
            submit(host, &given, Some(submitted), context)
        });
    }

    /// Makes a REST call and waits for it; only in `start`, `stop` and `refresh`.
    pub fn http_wait<T, F>(&self, call: &HttpCall<'_>, read: F) -> Result<T>
    where
        F: for<'a> FnOnce(HttpAnswer<'a>) -> Result<T>,
    {
        let mut wait = Wait { host: self, read: Some(read), result: None };
        let context: *mut Wait<'_, T, F> = &mut wait;
        let given = call.raw();
        self.check(self.tables().http.call, |call, host| unsafe {
            call(host, &given, Some(waited::<T, F>), context.cast())
        })?;
        wait.result.unwrap_or_else(|| Err(Error::new(Status::Internal, "there is no answer")))
    }
}

/// A call that a thread waits for.
struct Wait<'h, T, F> {
    host: &'h Host,
    read: Option<F>,
    result: Option<Result<T>>,
}

type Answer = *const sbx_http_answer;

unsafe extern "C" fn submitted(context: *mut c_void, given: Answer) {
    answer::<Answer>(context, given);
}

unsafe extern "C" fn waited<T, F>(context: *mut c_void, answer: *const sbx_http_answer)
where
    F: for<'a> FnOnce(HttpAnswer<'a>) -> Result<T>,
{
    // It lives in the frame of `http_wait`, which waits for this function.
    let wait = &mut *context.cast::<Wait<'_, T, F>>();
    let (host, read) = (wait.host, wait.read.take());
    let result = crate::panics::catch(|| match read {
        Some(read) => HttpAnswer::read(answer, host).and_then(read),
        None => Err(Error::internal("the host answered twice")),
    });
    wait.result = Some(result.and_then(|result| result));
}
