//! What a plugin is.

use crate::error::{Error, Result};
use crate::host::{Credential, Host};
use crate::json::Json;
use std::time::Duration;

/// What a plugin says of itself.
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

    /// JSON Schema of the config; without it the plugin takes none.
    pub const fn config_schema(mut self, schema: &'static str) -> Info {
        self.config_schema = Some(schema);
        self
    }

    /// Services without which the plugin cannot run, beside JSON and the clock: `sbx.sign/1`.
    pub const fn needs(mut self, services: &'static [&'static str]) -> Info {
        self.needs = services;
        self
    }

    /// The lowest minor of contract 1 that the plugin runs on; an older host refuses to load it.
    pub const fn needs_minor(mut self, minor: u32) -> Info {
        self.needs_minor = minor;
        self
    }

    /// The host calls no two role functions of one instance at the same time.
    pub const fn serial(mut self) -> Info {
        self.is_serial = true;
        self
    }
}

/// A plugin: a type whose values are instances with a config. Its roles are the traits that
/// [`crate::plugin!`] names.
///
/// Life: `create`, `start`, calls of the roles, `stop`, drop. `create`, `start`, `stop` and `refresh`
/// are called one at a time and may block; role functions run on several threads at once and must not.
pub trait Plugin: Sized + Send + Sync + 'static {
    /// What it is.
    const INFO: Info;

    /// Makes an instance from its part of gateway.yaml, which fits the schema. No network, no threads yet.
    fn create(host: Host, config: Json<'_>) -> Result<Self>;

    /// Ready to work: define credentials, start own threads.
    fn start(&self) -> Result<()> {
        Ok(())
    }

    /// Completes or gives back everything in the time that is left. Afterwards no thread and no callback of
    /// the instance runs. Failing means that it could not: the host then never calls it again.
    fn stop(&self, _time_left: Duration) -> Result<()> {
        Ok(())
    }

    /// A new value for a credential that `start` has defined. May block and use [`Host::http_wait`].
    /// `Unreachable` and `Timeout` mean try again, `Auth` and `Invalid` a wrong set-up.
    fn refresh(&self, name: &str) -> Result<Credential> {
        Err(Error::not_found(format!("there is no credential {name}")))
    }
}
