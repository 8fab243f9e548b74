import Foundation
import PluginRig

/// The current headers of the contract, those of a release, or a copy that a test changes.
struct Headers: Sendable {
    let folder: URL

    static let current = Headers(folder: PluginRig.root.appending(path: "include"))

    /// The headers as a next minor could have them.
    static let next = Task { try await current.next() }

    /// Paths below the folder, as a plugin author includes them.
    func files(ending: String = ".h") throws -> [String] {
        guard let found = FileManager.default.enumerator(atPath: folder.path) else {
            throw PluginRig.Failure(description: "there is no folder \(folder.path)")
        }
        // Helpers for authors are no part of the contract.
        return found.compactMap { $0 as? String }
            .filter { $0.hasSuffix(ending) && !$0.hasSuffix("/kit.h") }.sorted()
    }

    func text(_ file: String) throws -> String {
        try String(contentsOf: folder.appending(path: file), encoding: .utf8)
    }

    /// The version in the header: `1.0`.
    func version() throws -> String { "\(try constant("MAJOR")).\(try minor())" }

    func minor() throws -> Int { try constant("MINOR") }

    private func constant(_ name: String) throws -> Int {
        let text = try text("signalbox/types.h")
        let pattern = try Regex("#define SBX_ABI_\(name) ([0-9]+)u")
        guard let digits = text.firstMatch(of: pattern)?.output[1].substring,
            let number = Int(digits)
        else { throw PluginRig.Failure(description: "types.h does not define SBX_ABI_\(name)") }
        return number
    }

    func copy() throws -> Headers {
        let folder = try Workshop.folder("headers").appending(path: "include")
        try FileManager.default.copyItem(at: self.folder, to: folder)
        return Headers(folder: folder)
    }

    /// Replaces text that occurs exactly once.
    func edit(_ file: String, _ old: String, _ new: String) throws {
        let text = try text(file)
        let count = text.components(separatedBy: old).count - 1
        guard count == 1 else {
            throw PluginRig.Failure(
                description: "\(file) has \"\(old)\" \(count) times, not once")
        }
        try text.replacingOccurrences(of: old, with: new).write(
            to: folder.appending(path: file), atomically: true, encoding: .utf8)
    }

    /// Appends fields to a struct, wherever it is declared.
    func append(_ fields: String, to name: String) throws {
        let end = "} \(name);"
        for file in try files() where try text(file).contains(end) {
            return try edit(file, end, "\(fields)\n\(end)")
        }
        throw PluginRig.Failure(description: "no header declares struct \(name)")
    }

    /// A copy with a higher minor in which every struct that may grow has grown; see Plugins/Contract/next.h.
    private func next() async throws -> Headers {
        let next = try copy()
        let layout = try await Layout.of(self)
        for name in layout.growing {
            // Alignment must stay that of the old side's structs, so no wider field may follow.
            let fields =
                layout.structs[name]?.align == 4
                ? "  uint32_t next_number, next_more;"
                : "  uint64_t next_number;\n  sbx_str next_text;\n  void (*next_call)(void);"
            try next.append(fields, to: name)
        }
        let minor = try minor()
        try next.edit(
            "signalbox/types.h", "#define SBX_ABI_MINOR \(minor)u",
            "#define SBX_ABI_MINOR \(minor + 1)u\n#define SBX_NEXT 1")
        return next
    }
}

/// The released contracts, each in a folder with its headers and their layout.
enum Releases {
    static let folder = PluginRig.root.appending(path: "Tests/ContractTests/Releases")

    /// `1.0`, ...
    static let versions: [String] = {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.filter { $0.wholeMatch(of: /[0-9]+\.[0-9]+/) != nil }.sorted()
    }()

    static func headers(_ version: String) -> Headers {
        Headers(folder: folder.appending(path: "\(version)/include"))
    }

    static func layout(_ version: String) throws -> Layout {
        Layout(
            try String(contentsOf: folder.appending(path: "\(version)/layout.txt"), encoding: .utf8)
        )
    }
}
