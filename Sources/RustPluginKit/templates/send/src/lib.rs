//! Sends each notification as a line of JSON to a Unix socket, from a thread of its own.
#![forbid(unsafe_code)]
#![allow(non_snake_case)]

use signalbox_plugin::*;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::sync::Mutex;
use std::thread::JoinHandle;
use std::time::Duration;

/// So many wait at most; the host is told when there is room again.
const WAITING_MAX: usize = 256;

struct Instance {
    host: Host,
    socket: String,
    worker: Mutex<Option<(SyncSender<OwnedDelivery>, JoinHandle<()>)>>,
}

impl Plugin for Instance {
    const INFO: Info = Info::new("org.example.@NAME@", "0.1.0", "lines of JSON to a Unix socket")
        .config_schema(
            r#"{ "type": "object", "required": ["socket"],
                 "properties": { "socket": { "type": "string", "format": "path" } } }"#,
        );

    fn create(host: Host, config: Json<'_>) -> Result<Instance> {
        let socket = config.string_at("/socket").unwrap_or("").to_string();
        Ok(Instance { host, socket, worker: Mutex::new(None) })
    }

    fn start(&self) -> Result<()> {
        let (queue, waiting) = sync_channel(WAITING_MAX);
        let (host, socket) = (self.host.clone(), self.socket.clone());
        let thread = std::thread::spawn(move || work(&host, &socket, &waiting));
        *self.worker.lock().expect("nothing panics while it is locked") = Some((queue, thread));
        Ok(())
    }

    fn stop(&self, _time_left: Duration) -> Result<()> {
        let worker = self.worker.lock().expect("nothing panics while it is locked").take();
        if let Some((queue, thread)) = worker {
            // The thread ends when it has sent what waits.
            drop(queue);
            thread.join().map_err(|_| Error::internal("the thread panicked"))?;
        }
        Ok(())
    }
}

impl SendOwn for Instance {
    fn submit(&self, _app: &str, deliveries: Vec<OwnedDelivery>) -> Result<usize> {
        let worker = self.worker.lock().expect("nothing panics while it is locked");
        let (queue, _) = worker.as_ref().ok_or_else(|| Error::again("it is stopping"))?;
        Ok(deliveries.into_iter().take_while(|one| queue.try_send(one.clone()).is_ok()).count())
    }
}

fn work(host: &Host, socket: &str, waiting: &Receiver<OwnedDelivery>) {
    let mut stream = None;
    for delivery in waiting {
        let sent = send(&delivery, socket, &mut stream);
        let outcome = match sent {
            Ok(()) => Outcome::new(OutcomeKind::Delivered, "sent"),
            Err(_) => Outcome::new(OutcomeKind::Retry, "socket"),
        };
        if sent.is_err() {
            stream = None;
        }
        // The host is gone if these fail, and with it the delivery.
        let _ = host.complete(&[(delivery.id, outcome)]);
        let _ = host.credit(1);
    }
}

fn send(delivery: &OwnedDelivery, to: &str, open: &mut Option<UnixStream>) -> std::io::Result<()> {
    let note = delivery.notification();
    let mut line = JsonWriter::of_object(|out| {
        out.member("to", delivery.device().token);
        out.member("title", note.title);
        out.member("body", note.body);
    });
    line.push('\n');
    let stream = match open.take() {
        Some(stream) => stream,
        None => UnixStream::connect(to)?,
    };
    stream.set_write_timeout(Some(Duration::from_secs(10)))?;
    open.insert(stream).write_all(line.as_bytes())
}

signalbox_plugin::plugin!(Instance: SendOwn);
