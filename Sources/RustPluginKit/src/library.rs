//! What the exported function returns to the host.

use crate::error::Error;
use crate::host::lock;
use crate::instance;
use crate::panics;
use crate::plugin::Plugin;
use crate::sys::{self, *};
use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_void};
use std::ptr;
use std::sync::Mutex;

/// A role of a plugin: its id, its table, and the service that it requires.
pub struct Role {
    pub(crate) id: &'static str,
    pub(crate) table: *const c_void,
    pub(crate) needs: Option<&'static str>,
}

/// The tables of a library, made at the first call of its entry. A library is never unloaded, so
/// they are never freed.
pub struct Library {
    made: Mutex<Option<Made>>,
}

#[derive(Clone, Copy)]
struct Made {
    plugin: *const sbx_plugin,
    roles: &'static [Role],
}

// Tables are written before they are shared, and never afterwards.
unsafe impl Send for Made {}
unsafe impl Sync for Role {}

/// `sbx_plugin.role`, which [`crate::plugin!`] makes for its library.
pub type RoleFunction = unsafe extern "C" fn(*const c_char) -> *const c_void;

impl Library {
    /// An empty library, for a static.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Library {
        Library { made: Mutex::new(None) }
    }

    /// The body of the exported function.
    ///
    /// # Safety
    /// `error` is null or a struct that the host made.
    pub unsafe fn entry<P: Plugin>(
        &self,
        role: RoleFunction,
        roles: fn() -> Vec<Role>,
        error: *mut sbx_error,
    ) -> *const sbx_plugin {
        panics::install();
        let made = panics::catch(|| {
            lock(&self.made).get_or_insert_with(|| make::<P>(role, roles())).plugin
        });
        made.unwrap_or_else(|fault| {
            Error::internal(fault.message).report(error);
            ptr::null()
        })
    }

    /// The body of `sbx_plugin.role`.
    ///
    /// # Safety
    /// `id` is null or text with a NUL.
    pub unsafe fn role(&self, id: *const c_char) -> *const c_void {
        let made = *lock(&self.made);
        match (made, id.is_null()) {
            (Some(made), false) => {
                let id = CStr::from_ptr(id).to_bytes();
                let known = made.roles.iter().find(|role| role.id.as_bytes() == id);
                known.map_or(ptr::null(), |role| role.table)
            }
            _ => ptr::null(),
        }
    }
}

fn make<P: Plugin>(role: RoleFunction, roles: Vec<Role>) -> Made {
    let info = P::INFO;
    let mut needs = vec![SBX_SVC_JSON, SBX_SVC_CLOCK];
    needs.extend(roles.iter().filter_map(|role| role.needs));
    needs.extend(info.needs);
    let plugin = sbx_plugin {
        abi_major: SBX_ABI_MAJOR,
        abi_minor: SBX_ABI_MINOR,
        needs_minor: info.needs_minor,
        flags: if info.is_serial { SBX_F_SERIAL } else { 0 },
        id: text(info.id),
        version: text(info.version),
        summary: text(info.summary),
        roles: texts(roles.iter().map(|role| role.id)),
        needs: texts(needs.into_iter()),
        config_schema: info.config_schema.map_or(ptr::null(), text),
        create: Some(instance::create::<P>),
        role: Some(role),
        start: Some(instance::start::<P>),
        stop: Some(instance::stop::<P>),
        destroy: Some(instance::destroy),
        ..sys::fresh()
    };
    Made { plugin: constant(plugin), roles: Box::leak(roles.into()) }
}

/// Puts a value at an address that never changes.
pub(crate) fn constant<T>(value: T) -> *const T {
    Box::leak(Box::new(value))
}

/// Static text that ends with NUL. NULs inside would cut it, so they are left out.
pub(crate) fn text(text: &str) -> *const c_char {
    let bytes: Vec<u8> = text.bytes().filter(|byte| *byte != 0).collect();
    CString::new(bytes).map_or(ptr::null(), |text| text.into_raw() as *const c_char)
}

fn texts<'a>(list: impl Iterator<Item = &'a str>) -> *const *const c_char {
    let all: Vec<*const c_char> = list.map(text).chain([ptr::null()]).collect();
    Box::leak(all.into_boxed_slice()).as_ptr()
}

/// Makes a type that implements [`Plugin`] and its role traits the plugin of this library:
///
/// ```text
/// signalbox_plugin::plugin!(Echo: Build, SendHttp);
/// ```
///
/// Roles are `Ingest`, `Filter`, `Build`, `SendHttp`, `Register`, `SendOwn`, `Source` and `Observe`.
#[macro_export]
macro_rules! plugin {
    ($plugin:ty: $($role:ident),+ $(,)?) => {
        const _: () = {
            #[cfg(all(panic = "abort", not(test)))]
            compile_error!("a panic must not end the gateway: remove panic = \"abort\"");

            static LIBRARY: $crate::library::Library = $crate::library::Library::new();

            unsafe extern "C" fn role(
                id: *const ::std::os::raw::c_char,
            ) -> *const ::std::os::raw::c_void {
                LIBRARY.role(id)
            }

            fn roles() -> ::std::vec::Vec<$crate::library::Role> {
                ::std::vec![$($crate::role::tables::$role::<$plugin>()),+]
            }

            /// The one exported function.
            #[no_mangle]
            pub unsafe extern "C" fn sbx_plugin_entry_v1(
                _host: *const $crate::sys::sbx_host,
                error: *mut $crate::sys::sbx_error,
            ) -> *const $crate::sys::sbx_plugin {
                LIBRARY.entry::<$plugin>(role, roles, error)
            }
        };
    };
}
