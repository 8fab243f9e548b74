//! The trait that every plugin implements.

use crate::error::{Error, Result};
use crate::host::{Credential, Host};
use crate::json::Json;
use std::time::Duration;

/// What a plugin declares about itself.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    pub(crate) id: &'static str,
    pub(crate) version: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) config_schema: Option<&'static str>,
    pub(crate) needs: &'static [&'static str],
    pub(crate) is_serial: bool,
    pub(crate) needs_minor: u32,
}

impl Info {
    /// `id` is unique and never changes (`com.example.apns`); `summary` is one line for
    /// `signalbox plugins list`.
    pub const fn new(id: &'static str, version: &'static str, summary: &'static str) -> Info {
        Info {
            id,
            version,
            summary,
            config_schema: None,
            needs: &[],
            is_serial: false,
            needs_minor: 0,
        }
    }

    /// JSON Schema of the config; without it the plugin takes no config.
    pub const fn config_schema(mut self, schema: &'static str) -> Info {
        self.config_schema = Some(schema);
        self
    }

    /// Services that the plugin requires in addition to JSON and the clock: `sbx.sign/1`.
    pub const fn needs(mut self, services: &'static [&'static str]) -> Info {
        self.needs = services;
        self
    }

    /// The lowest minor of contract 1 that the plugin runs on; an older host refuses to load it.
    pub const fn needs_minor(mut self, minor: u32) -> Info {
        self.needs_minor = minor;
        self
    }

    /// The host never calls two role functions of one instance at the same time.
    pub const fn serial(mut self) -> Info {
        self.is_serial = true;
        self
    }
}

/// A plugin: a type whose values are instances, each with a config. [`crate::plugin!`] names its
/// roles, which are traits.
///
/// Life cycle: `create`, `start`, calls of the roles, `stop`, drop. `create`, `start`, `stop` and
/// `refresh` are called one at a time and may block. Role functions run on several threads at
/// once and must not block.
pub trait Plugin: Sized + Send + Sync + 'static {
    /// Describes the plugin.
    const INFO: Info;

    /// Makes an instance from its part of gateway.yaml, which matches the schema. It may not use
    /// the network or start threads yet.
    fn create(host: Host, config: Json<'_>) -> Result<Self>;

    /// Gets the instance ready for work: defines credentials, starts its own threads.
    fn start(&self) -> Result<()> {
        Ok(())
    }

    /// Completes or returns all work in the time left. Afterwards no thread or callback of the
    /// instance runs. If it fails, the host never calls the instance again.
    fn stop(&self, _time_left: Duration) -> Result<()> {
        Ok(())
    }

    /// Fetches a new value for a credential that `start` defined. May block and use
    /// [`Host::http_wait`]. `Unreachable` and `Timeout` mean try again; `Auth` and `Invalid` mean a
    /// wrong configuration.
    fn refresh(&self, name: &str) -> Result<Credential> {
        Err(Error::not_found(format!("there is no credential {name}")))
    }
}
