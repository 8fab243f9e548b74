//! An event each `every_ms` for one user: a schedule. What could not be stored is emitted again, and
//! the dedupe key keeps it from being pushed twice. A bus would acknowledge in `settled` instead.
#![forbid(unsafe_code)]
#![allow(non_snake_case)]

use signalbox_plugin::*;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Clone)]
struct Instance {
    host: Host,
    user: String,
    every_ms: u64,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    is_running: bool,
    timer: Option<Timer>,
    /// Times of events that are still to be stored.
    again: Vec<u64>,
}

impl Plugin for Instance {
    const INFO: Info = Info::new("org.example.@ID@", "0.1.0", "an event at regular times")
        .needs_minor(1)
        .config_schema(
            r#"{ "type": "object", "required": ["user"],
                 "properties": { "user": { "type": "string" },
                                 "every_ms": { "type": "integer", "minimum": 10 } } }"#,
        );

    fn create(host: Host, config: Json<'_>) -> Result<Instance> {
        let user = config.string_at("/user").unwrap_or("").to_string();
        let every_ms = config.at("/every_ms").and_then(|value| value.integer()).unwrap_or(60_000).max(10) as u64;
        Ok(Instance { host, user, every_ms, state: Arc::default() })
    }
}

impl Source for Instance {
    fn resume(&self, _batches_max: u32) -> Result<()> {
        let mut state = self.state();
        state.is_running = true;
        self.set_timer(&mut state);
        Ok(())
    }

    fn pause(&self) -> Result<()> {
        let timer = {
            let mut state = self.state();
            state.is_running = false;
            state.timer.take()
        };
        if let Some(timer) = timer {
            timer.cancel();
        }
        Ok(())
    }

    fn settled(&self, results: &[BatchResult]) {
        let missing = results.iter().filter(|one| !one.is_stored).map(|one| one.token);
        self.state().again.extend(missing);
    }
}

impl Instance {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_timer(&self, state: &mut State) {
        let own = self.clone();
        state.timer = self.host.after(self.every_ms, move || own.tick());
    }

    fn tick(&self) {
        // Held while it emits: nothing is emitted once pause() has returned.
        let mut state = self.state();
        if !state.is_running {
            return;
        }
        let mut times = std::mem::take(&mut state.again);
        times.push(self.host.now_unix_ms());
        for time in times {
            let key = format!("tick/{time}");
            let recipients = [Recipient::user(&self.user, "")];
            let event = Event {
                kind: "tick",
                dedupe: &key,
                data: r#"{"title":"It is time"}"#,
                time_unix_ms: time,
                recipients: &recipients,
                ..Event::default()
            };
            // Too many are undecided: with the next one.
            if self.host.emit(&[event], time).is_err() {
                state.again.push(time);
            }
        }
        self.set_timer(&mut state);
    }
}

signalbox_plugin::plugin!(Instance: Source);
