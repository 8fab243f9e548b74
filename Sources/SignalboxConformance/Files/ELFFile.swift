internal import SignalboxCore

/// Reads a shared library without loading it: 64-bit ELF in this machine's byte order.
struct ELFFile {
    /// Symbols that others may link to.
    private(set) var exports: [String] = []
    /// Symbols that it needs from others.
    private(set) var imports: [String] = []
    /// Libraries that it needs.
    private(set) var libraries: [String] = []
    private(set) var hasTextRelocations = false
    private(set) var wantsExecutableStack = false
    private let bytes: [UInt8]

    /// Nil if the bytes are no such file.
    init?(_ bytes: [UInt8]) {
        self.bytes = bytes
        guard bytes.count >= 64, Array(bytes[..<6]) == [0x7F, 0x45, 0x4C, 0x46, 2, 1] else {
            return nil
        }
        readSegments()
        guard readSections() else { return nil }
    }

    /// Whether it was compiled with AddressSanitizer.
    var isSanitized: Bool { imports.contains { $0.hasPrefix("__asan_") } }

    private func number<Word: FixedWidthInteger>(_ offset: Int, _ type: Word.Type) -> Word {
        let size = MemoryLayout<Word>.size
        guard offset >= 0, offset <= bytes.count - size else { return 0 }
        return bytes.withUnsafeBytes {
            Word(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: Word.self))
        }
    }

    private func offset(_ place: Int) -> Int { Int(truncatingIfNeeded: number(place, UInt64.self)) }

    private func text(_ offset: Int) -> String {
        guard offset >= 0, offset < bytes.count else { return "" }
        return String(decoding: bytes[offset...].prefix { $0 != 0 }, as: UTF8.self)
    }

    private mutating func readSegments() {
        let start = offset(32)
        let (size, count) = (Int(number(54, UInt16.self)), Int(number(56, UInt16.self)))
        for index in 0..<count {
            let place = start &+ index &* size
            // PT_GNU_STACK with the flag PF_X.
            if number(place, UInt32.self) == 0x6474_E551, number(place &+ 4, UInt32.self) & 1 != 0 {
                wantsExecutableStack = true
            }
        }
    }

    private struct Section {
        var type: UInt32
        var start: Int
        var size: Int
        var link: Int
    }

    private mutating func readSections() -> Bool {
        let start = offset(40)
        let (size, count) = (Int(number(58, UInt16.self)), Int(number(60, UInt16.self)))
        guard start > 0, size >= 64 else { return false }
        let sections = (0..<count).map { index in
            let place = start &+ index &* size
            return Section(
                type: number(place &+ 4, UInt32.self), start: offset(place &+ 24),
                size: offset(place &+ 32), link: Int(number(place &+ 40, UInt32.self)))
        }
        for section in sections where sections.indices.contains(section.link) {
            let names = sections[section.link].start
            // No section is longer than its file.
            let length = min(max(0, section.size), bytes.count)
            if section.type == 11 { readSymbols(section.start, length, names) }
            if section.type == 6 { readDynamic(section.start, length, names) }
        }
        return true
    }

    private mutating func readSymbols(_ start: Int, _ size: Int, _ names: Int) {
        for place in stride(from: start, to: start &+ size, by: 24) {
            let info = number(place &+ 4, UInt8.self)
            let visibility = number(place &+ 5, UInt8.self) & 3
            let name = text(names &+ Int(number(place, UInt32.self)))
            // Global, weak or unique symbols; hidden and internal ones are private.
            guard [1, 2, 10].contains(info >> 4), visibility == 0 || visibility == 3, !name.isEmpty
            else { continue }
            if number(place &+ 6, UInt16.self) == 0 {
                imports.append(name)
            } else if !Self.ofTools.contains(where: { name.hasPrefix($0) }) {
                exports.append(name)
            }
        }
    }

    /// Names that linkers and sanitizers add.
    private static let ofTools = [
        "_init", "_fini", "_edata", "__bss_start", "_end", "__asan", "___asan", "__odr_asan",
        "__start_asan", "__stop_asan",
    ]

    private mutating func readDynamic(_ start: Int, _ size: Int, _ names: Int) {
        for place in stride(from: start, to: start &+ size, by: 16) {
            let value = offset(place &+ 8)
            switch number(place, UInt64.self) {
            case 0: return
            case 1: libraries.append(text(names &+ value))
            case 22: hasTextRelocations = true
            case 30: if value & 4 != 0 { hasTextRelocations = true }
            default: break
            }
        }
    }
}

/// Checks the rules that need the file alone.
enum FileRuleCheck {
    static func check(_ file: ELFFile, _ verdicts: inout CheckVerdicts) {
        func judge(_ rule: CheckRule, _ faults: [String]) {
            verdicts.add(rule, .pass, "")
            for fault in faults { verdicts.add(rule, .fail, fault) }
        }
        let entry = "sbx_plugin_entry_v1"
        var exports: [String] = []
        if !file.exports.contains(entry) { exports.append("it does not export \(entry)") }
        let others = file.exports.filter { $0 != entry }.sorted()
        if !others.isEmpty {
            let first = others.prefix(3).joined(separator: ", ")
            exports.append(
                "it exports \(others.count) more: \(first.prefix(120)); make them static, or link with a "
                    + "version script")
        }
        judge(.fileExports, exports)
        judge(
            .fileRelocations,
            file.hasTextRelocations ? ["it has: compile with -fPIC"] : [])
        judge(
            .fileStack,
            file.wantsExecutableStack ? ["it does: link with -z noexecstack"] : [])
        let wanted =
            file.imports.filter { $0.hasPrefix("sbx_") }
            + file.libraries.filter { $0.lowercased().hasPrefix("libsignalbox") }
        judge(.fileHost, wanted.map { "it wants \($0)" })
    }
}
