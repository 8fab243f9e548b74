//! Sends each notification as a line of JSON to a file, from a thread of its own.
#![forbid(unsafe_code)]
#![allow(non_snake_case)]

use signalbox_plugin::*;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::mpsc::{sync_channel, SyncSender};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

struct Instance {
    host: Host,
    file: String,
    worker: Mutex<Option<(SyncSender<OwnedDelivery>, JoinHandle<()>)>>,
}

impl Plugin for Instance {
    const INFO: Info = Info::new("org.example.@ID@", "0.1.0", "lines of JSON in a file")
        .config_schema(
            r#"{ "type": "object", "required": ["file"],
                 "properties": { "file": { "type": "string" } } }"#,
        );

    fn create(host: Host, config: Json<'_>) -> Result<Instance> {
        let file = config.string_at("/file").unwrap_or("").to_string();
        Ok(Instance { host, file, worker: Mutex::new(None) })
    }

    fn start(&self) -> Result<()> {
        // At most this many wait; the host learns when there is room again.
        let (queue, waiting) = sync_channel::<OwnedDelivery>(256);
        let (host, file) = (self.host.clone(), self.file.clone());
        let thread = std::thread::spawn(move || {
            let mut open = None;
            for delivery in waiting {
                let outcome = match send(&delivery, &file, &mut open) {
                    Ok(()) => Outcome::new(OutcomeKind::Delivered, "written"),
                    Err(_) => Outcome::new(OutcomeKind::Retry, "disk"),
                };
                let _ = host.complete(&[(delivery.id, outcome)]).and_then(|_| host.credit(1));
            }
        });
        *self.worker.lock().unwrap_or_else(PoisonError::into_inner) = Some((queue, thread));
        Ok(())
    }

    fn stop(&self, _time_left: Duration) -> Result<()> {
        let worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((queue, thread)) = worker {
            drop(queue); // The thread ends when it has sent everything.
            thread.join().map_err(|_| Error::internal("the thread panicked"))?;
        }
        Ok(())
    }
}

impl SendOwn for Instance {
    fn submit(&self, _app: &str, deliveries: Vec<OwnedDelivery>) -> Result<usize> {
        let worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        let (queue, _) = worker.as_ref().ok_or_else(|| Error::again("it has not started"))?;
        Ok(deliveries.into_iter().take_while(|one| queue.try_send(one.clone()).is_ok()).count())
    }
}

/// Writes a line; a file that failed is opened again.
fn send(delivery: &OwnedDelivery, to: &str, open: &mut Option<File>) -> std::io::Result<()> {
    let (device, note) = (delivery.device(), delivery.notification());
    let line = JsonWriter::of_object(|out| {
        out.member("to", device.token);
        out.member("body", note.body);
    });
    let append = || OpenOptions::new().create(true).append(true).open(to);
    let mut file = open.take().map_or_else(append, Ok)?;
    file.write_all(format!("{line}\n").as_bytes())?;
    *open = Some(file);
    Ok(())
}

signalbox_plugin::plugin!(Instance: SendOwn);
