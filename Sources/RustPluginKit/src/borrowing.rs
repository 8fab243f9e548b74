//! What the compiler rejects. In each pair, the second example differs from the first by a detail.
//!
//! Parsed JSON does not outlive its call:
//!
//! ```
//! # use signalbox_plugin::*;
//! fn body<'a>(request: &Request<'a>) -> Json<'a> { request.json().unwrap() }
//! ```
//! ```compile_fail
//! # use signalbox_plugin::*;
//! fn body<'a>(request: &Request<'a>) -> Json<'static> { request.json().unwrap() }
//! ```
//!
//! Neither does text:
//!
//! ```
//! # use signalbox_plugin::*;
//! fn token<'a>(delivery: &Delivery<'a>) -> &'a str { delivery.device().token }
//! ```
//! ```compile_fail
//! # use signalbox_plugin::*;
//! fn token<'a>(delivery: &Delivery<'a>) -> &'static str { delivery.device().token }
//! ```
//!
//! Text of an owned delivery does not outlive that delivery:
//!
//! ```
//! # use signalbox_plugin::*;
//! fn token(delivery: &OwnedDelivery) -> &str { delivery.device().token }
//! ```
//! ```compile_fail
//! # use signalbox_plugin::*;
//! fn token(delivery: OwnedDelivery) -> &'static str { delivery.device().token }
//! ```
//!
//! JSON stays on the thread of its call; text may be read on any thread:
//!
//! ```
//! # use signalbox_plugin::*;
//! fn elsewhere(text: &str) { std::thread::scope(|scope| drop(scope.spawn(|| text.len()))); }
//! ```
//! ```compile_fail
//! # use signalbox_plugin::*;
//! fn elsewhere(json: Json<'_>) { std::thread::scope(|scope| drop(scope.spawn(|| json.len()))); }
//! ```
//!
//! An answer does not outlive the closure that reads it:
//!
//! ```
//! # use signalbox_plugin::*;
//! fn get(host: &Host) -> Result<u32> { host.http_wait(&HttpCall::default(), |answer| Ok(answer.status())) }
//! ```
//! ```compile_fail
//! # use signalbox_plugin::*;
//! fn get(host: &Host) -> Result<HttpAnswer<'_>> { host.http_wait(&HttpCall::default(), |answer| Ok(answer)) }
//! ```
//!
//! After `defer`, only the value it returns reaches the request, from one thread at a time:
//!
//! ```
//! # use signalbox_plugin::*;
//! fn open(sink: IngestSink<'_>) { let open = sink.defer(1).unwrap(); open.reject("a", "b"); }
//! fn share(open: Deferred) { std::thread::spawn(move || open.reject("a", "b")); }
//! ```
//! ```compile_fail
//! # use signalbox_plugin::*;
//! fn open(sink: IngestSink<'_>) { let open = sink.defer(1).unwrap(); sink.reject("a", "b"); }
//! ```
//! ```compile_fail
//! # use signalbox_plugin::*;
//! fn share(open: &Deferred) { std::thread::scope(|scope| drop(scope.spawn(|| open.reject("a", "b")))); }
//! ```
