//! How the contract is declared, and the two operations that every struct of it needs: reading one
//! from a side that knows fewer or more fields, and making one with its size.

use super::sbx_host;
use std::ffi::CString;
use std::mem::{size_of, MaybeUninit};
use std::ptr;

/// A struct that may grow: it begins with `struct_size`, and all zeros is a valid value.
///
/// # Safety
/// The type is `repr(C)`, its first field is a `u32` with the size that its builder knows, and
/// every field may be zero.
pub unsafe trait Growing: Copy {}

/// Reads the part of a struct that both sides know; the rest is zero, which means "not given".
///
/// # Safety
/// `given` points to a struct of this kind whose first `struct_size` bytes can be read.
pub unsafe fn read<T: Growing>(given: *const T) -> T {
    let mut own = MaybeUninit::<T>::zeroed();
    let known = ptr::read_unaligned(given.cast::<u32>()) as usize;
    let bytes = known.min(size_of::<T>());
    ptr::copy_nonoverlapping(given.cast::<u8>(), own.as_mut_ptr().cast::<u8>(), bytes);
    own.assume_init()
}

/// An empty struct with its size set.
pub fn fresh<T: Growing>() -> T {
    let mut own = MaybeUninit::<T>::zeroed();
    // Zero is valid for `Growing`, and the size comes first.
    unsafe {
        own.as_mut_ptr().cast::<u32>().write(size_of::<T>() as u32);
        own.assume_init()
    }
}

/// Declares structs of the contract: `growing` ones begin with their size, `frozen` ones never
/// change. In tests it also records what was declared.
macro_rules! contract {
    ($($kind:ident $name:ident { $($field:ident: $type:ty,)* })*) => {
        $(
            #[repr(C)]
            #[derive(Clone, Copy)]
            pub struct $name { $(pub $field: $type,)* }
            contract!(@$kind $name);
        )*

        #[cfg(test)]
        pub(super) fn structs() -> Vec<crate::sys::check::Struct> {
            vec![$({
                let room = std::mem::MaybeUninit::<$name>::uninit();
                let start = room.as_ptr();
                crate::sys::check::Struct {
                    name: stringify!($name),
                    size: std::mem::size_of::<$name>(),
                    fields: vec![$(
                        crate::sys::check::Field {
                            name: stringify!($field).trim_start_matches("r#"),
                            size: std::mem::size_of::<$type>(),
                            // Takes the address only; reads nothing.
                            offset: unsafe { std::ptr::addr_of!((*start).$field) } as usize
                                - start as usize,
                        },
                    )*],
                }
            },)*]
        }
    };
    (@growing $name:ident) => { unsafe impl crate::sys::Growing for $name {} };
    (@frozen $name:ident) => {};
}

/// Declares constants of the contract, and records them in tests.
macro_rules! constants {
    ($($name:ident: $type:ty = $value:expr;)*) => {
        $(pub const $name: $type = $value;)*

        #[cfg(test)]
        pub(super) fn constants() -> Vec<(&'static str, String)> {
            vec![$((stringify!($name), format!("{:?}", $name)),)*]
        }
    };
}

/// Declares the tables of all services.
macro_rules! services {
    ($($name:ident: $table:ty = $id:ident;)*) => {
        /// The services, at the size that this side knows. One that the host lacks has no functions.
        pub(crate) struct Services { $(pub $name: $table,)* }

        impl Services {
            /// # Safety
            /// `host` is a host that lives.
            pub(crate) unsafe fn of(host: *const sbx_host) -> Services {
                Services { $($name: service(host, $id),)* }
            }
        }
    };
}

/// # Safety
/// `host` is a host that lives, whose service of this id has a table of this kind.
pub(super) unsafe fn service<T: Growing>(host: *const sbx_host, id: &str) -> T {
    let found = match (read(host).service, CString::new(id)) {
        (Some(service), Ok(id)) => service(host, id.as_ptr()).cast::<T>(),
        _ => ptr::null(),
    };
    match found.is_null() {
        true => fresh(),
        false => read(found),
    }
}
