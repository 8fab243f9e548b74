//! Compares the Rust contract with the C headers: declarations, types, and the layout that a C
//! compiler chooses. A change on only one side fails.

mod header;

use self::header::Header;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A struct as declared in Rust.
pub struct Struct {
    pub name: &'static str,
    pub size: usize,
    pub fields: Vec<Field>,
}

/// A field of a struct.
pub struct Field {
    pub name: &'static str,
    pub kind: &'static str,
    pub size: usize,
    pub offset: usize,
}

/// A Rust type without differences of formatting.
fn plain(kind: &str) -> String {
    let dense: String = kind.chars().filter(|c| !c.is_whitespace()).collect();
    dense.replace(",)", ")").replace(",>", ">")
}

fn include() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include")
}

fn header() -> Header {
    Header::read(&include().join("signalbox/plugin.h"))
}

fn structs() -> Vec<Struct> {
    let mut all = super::types::structs();
    all.extend(super::model::structs());
    all.extend(super::plugin::structs());
    all.extend(super::role::structs());
    all.extend(super::transport::structs());
    all.extend(super::service::structs());
    all.extend(super::outside::structs());
    all
}

#[test]
fn structs_have_the_fields_and_types_of_the_header() {
    let mut own = BTreeMap::new();
    for one in structs() {
        let fields: Vec<(String, String)> =
            one.fields.iter().map(|f| (f.name.to_string(), plain(f.kind))).collect();
        assert!(own.insert(one.name.to_string(), fields).is_none(), "{} twice", one.name);
    }
    let given = header().structs;
    assert!(given.len() >= 40, "the header was not read: {} structs", given.len());
    for (name, fields) in &given {
        assert_eq!(own.get(name), Some(fields), "{name}");
    }
    assert_eq!(own.keys().collect::<Vec<_>>(), given.keys().collect::<Vec<_>>());
}

#[test]
fn function_types_are_those_of_the_header() {
    let mut own = BTreeMap::new();
    own.extend(super::plugin::functions().iter().map(|f| (f.0.to_string(), plain(f.1))));
    own.extend(super::outside::functions().iter().map(|f| (f.0.to_string(), plain(f.1))));
    assert!(own.len() >= 4);
    assert_eq!(own, header().functions);
}

/// What the C compiler reports for every struct, field and constant of the headers.
fn compiled(header: &Header) -> Vec<String> {
    let mut text = String::from(
        "#include <signalbox/plugin.h>\n#include <stdio.h>\n\
         static void number(const char *n, long long v) { printf(\"%s %lld\\n\", n, v); }\n\
         static void words(const char *n, const char *v) { printf(\"%s %s\\n\", n, v); }\n\
         #define SHOW(c) _Generic((c), char *: words, default: number)(#c, c)\n\
         int main(void) {\n",
    );
    for (name, fields) in &header.structs {
        text += &format!("printf(\"{name} %zu\\n\", sizeof({name}));\n");
        for (field, _) in fields {
            text += &format!(
                "printf(\"{name}.{field} %zu %zu\\n\", offsetof({name}, {field}), \
                 sizeof((({name} *)0)->{field}));\n"
            );
        }
    }
    for name in &header.constants {
        text += &format!("SHOW({name});\n");
    }
    text += "return 0;\n}\n";
    let folder = std::env::temp_dir().join(format!("signalbox-contract-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the probe");
    let (source, program) = (folder.join("probe.c"), folder.join("probe"));
    std::fs::write(&source, text).expect("the probe's source");
    let mut compiler = Command::new("cc");
    // Constants of both kinds go through one macro; the branch not taken is never called.
    compiler.args(["-std=c11", "-w", "-I"]).arg(include()).arg(&source).arg("-o").arg(&program);
    let compiled = compiler.output().expect("a C compiler: cc");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let output = Command::new(&program).output().expect("the probe").stdout;
    std::fs::remove_dir_all(&folder).expect("the folder of the probe");
    let mut lines: Vec<String> =
        String::from_utf8(output).expect("text").lines().map(str::to_string).collect();
    lines.sort();
    lines
}

#[test]
fn sizes_offsets_and_constants_are_those_of_the_c_compiler() {
    let mut own = Vec::new();
    for one in structs() {
        own.push(format!("{} {}", one.name, one.size));
        for field in &one.fields {
            own.push(format!("{}.{} {} {}", one.name, field.name, field.offset, field.size));
        }
    }
    let constants = [
        super::types::constants(),
        super::model::constants(),
        super::plugin::constants(),
        super::role::constants(),
        super::transport::constants(),
        super::service::constants(),
        super::outside::constants(),
    ];
    own.extend(constants.concat().iter().map(|(name, value)| format!("{name} {value}")));
    own.sort();
    let given = compiled(&header());
    assert!(given.len() > 300, "the probe printed {} lines", given.len());
    for line in &given {
        assert!(own.contains(line), "the header says {line}, and Rust does not");
    }
    for line in &own {
        assert!(given.contains(line), "Rust says {line}, and the header does not");
    }
}
