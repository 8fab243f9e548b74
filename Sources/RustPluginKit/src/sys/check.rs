//! Compares the generated contract with what a C compiler makes of the headers.

use std::io::Write;
use std::process::{Command, Stdio};

/// A struct as declared in Rust.
pub struct Struct {
    pub name: &'static str,
    pub size: usize,
    pub fields: Vec<Field>,
}

/// A field of a struct.
pub struct Field {
    pub name: &'static str,
    pub size: usize,
    pub offset: usize,
}

/// Has a C compiler check assertions; its words if one does not hold.
fn compile(assertions: &[String]) -> String {
    let mut text = String::from("#include <signalbox/plugin.h>\n");
    for one in assertions {
        text += &format!("_Static_assert({one}, {one:?});\n");
    }
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-w", "-fsyntax-only", "-x", "c", "-", "-I"]);
    compiler.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../../include"));
    compiler.stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut running = compiler.spawn().expect("a C compiler: cc");
    running.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("it reads");
    let output = running.wait_with_output().expect("the compiler");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn sizes_offsets_and_constants_are_those_of_the_c_compiler() {
    let structs = [super::base::structs(), super::role::structs(), super::service::structs()];
    let constants =
        [super::base::constants(), super::role::constants(), super::service::constants()];
    let mut all = Vec::new();
    for Struct { name, size, fields } in structs.into_iter().flatten() {
        all.push(format!("sizeof({name}) == {size}"));
        for Field { name: field, size, offset } in fields {
            all.push(format!("offsetof({name}, {field}) == {offset}"));
            all.push(format!("sizeof((({name} *)0)->{field}) == {size}"));
        }
    }
    for (name, value) in constants.concat() {
        all.push(match value.starts_with('"') {
            true => format!("__builtin_strcmp({name}, {value}) == 0"),
            false => format!("{name} == {value}"),
        });
    }
    assert!(all.len() > 600, "only {} facts were declared", all.len());
    assert_eq!(compile(&all), "");
    assert!(compile(&["SBX_ABI_MAJOR == 0".to_string()]).contains("assert"));
}
