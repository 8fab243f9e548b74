internal import Glibc
internal import SignalboxCore
internal import SignalboxPluginHost

/// Tools that watch memory while a plugin is examined.
enum MemoryTools {
    /// The path of a program in PATH; nil if it is not installed.
    static func find(_ program: String) -> String? {
        let folders = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
        for folder in folders.split(separator: ":") {
            let path = "\(folder)/\(program)"
            if access(path, X_OK) == 0 { return path }
        }
        return nil
    }

    /// The runtime for a library compiled with AddressSanitizer; nil if it is not installed.
    static func sanitizer(for file: ELFFile) -> String? {
        // The linker finds the runtime by this name.
        if let named = file.libraries.first(where: {
            $0.hasPrefix("libasan.so") || $0.contains("asan")
        }) {
            return named
        }
        for (compiler, name) in [
            ("clang", "libclang_rt.asan.so"), ("clang", "libclang_rt.asan-x86_64.so"),
            ("clang", "libclang_rt.asan-aarch64.so"), ("gcc", "libasan.so"),
        ] {
            guard let path = find(compiler) else { continue }
            let asked = try? ChildProcess([path, "-print-file-name=\(name)"]).run(timeoutMs: 10_000)
            guard let found = asked?.text.split(separator: "\n").first, found.hasPrefix("/"),
                access(String(found), R_OK) == 0
            else { continue }
            return String(found)
        }
        return nil
    }

    /// Variables for a process with the sanitizer's runtime, which writes one frame per line.
    static func environment(sanitizer: String) -> [String: String] {
        [
            "LD_PRELOAD": sanitizer,
            "ASAN_OPTIONS":
                "detect_leaks=1:exitcode=97:stack_trace_format='FRAME %n|%f|%m|%S':color=never",
            "LSAN_OPTIONS": "exitcode=97",
        ]
    }

    /// The command that runs a program of this machine under memcheck.
    static func valgrind(_ path: String, log: String) -> [String] {
        [
            path, "--quiet", "--xml=yes", "--xml-file=\(log)", "--leak-check=full",
            "--show-leak-kinds=definite", "--num-callers=30", "--error-limit=no",
            // The code runs only a few times here, so optimising it costs more than it saves.
            "--max-threads=200", "--child-silent-after-fork=yes", "--vex-iropt-level=1",
        ]
    }
}

/// A memory fault as reported by a tool.
struct MemoryFault: Equatable {
    var isLeak: Bool
    var words: String

    /// `what` is nil for lost memory.
    init(what: String?, place: String) {
        isLeak = what == nil
        words = what.map { "\($0) in \(place)" } ?? "memory that was allocated in \(place)"
    }
}

/// Parses the sanitizer's report on standard error.
enum SanitizerReport {
    static func faults(in text: String, plugin: String) -> [MemoryFault] {
        var out: [MemoryFault] = []
        var heading: (words: String, isLeak: Bool)?
        var isBlamed = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.contains("ERROR: AddressSanitizer: ") {
                // ==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x... at pc ...
                let words = line.split(separator: ": ").dropFirst(2).first ?? "a fault of memory"
                heading = (String(words.split(separator: " on ")[0]), false)
                isBlamed = false
            } else if line.hasPrefix("Direct leak of ") {
                heading = ("", true)
                isBlamed = false
            } else if let heading, !isBlamed, let range = line.split(separator: "FRAME ").last,
                line.contains("FRAME ")
            {
                let parts = range.split(separator: "|", omittingEmptySubsequences: false)
                guard parts.count >= 4, parts[2].hasSuffix(plugin) || parts[2] == plugin else {
                    continue
                }
                let place = parts[3].split(separator: "/").last.map { " (\($0))" } ?? ""
                out.append(
                    MemoryFault(
                        what: heading.isLeak ? nil : heading.words, place: "\(parts[1])\(place)"))
                isBlamed = true
            }
        }
        return out
    }
}

/// Parses memcheck's XML. A tool writes it with one element per line, so it needs no XML parser.
enum ValgrindReport {
    private struct Frame {
        var object = ""
        var function = ""
        var file = ""
        var line = ""
    }

    static func faults(in xml: String, plugin: String) -> [MemoryFault] {
        xml.components(between: "<error>", and: "</error>").compactMap { fault($0, plugin) }
    }

    private static func fault(_ error: Substring, _ plugin: String) -> MemoryFault? {
        guard let kind = error.components(between: "<kind>", and: "</kind>").first else {
            return nil
        }
        let isLeak = kind.hasPrefix("Leak_")
        guard !isLeak || kind == "Leak_DefinitelyLost" else { return nil }
        let stack = error.components(between: "<stack>", and: "</stack>").first ?? ""
        let frames = stack.components(between: "<frame>", and: "</frame>").map { frame in
            func part(_ name: String) -> String {
                frame.components(between: "<\(name)>", and: "</\(name)>").first.map(String.init)
                    ?? ""
            }
            return Frame(
                object: part("obj"), function: part("fn"), file: part("file"), line: part("line"))
        }
        // Swift's runtime initialises a type of the host during the plugin's call.
        if frames.first?.function == "swift_initStructMetadata" { return nil }
        // Lost memory is blamed on the first frame that is neither the allocator nor a runtime;
        // misused memory on any frame of the plugin in the stack.
        let suspects = isLeak ? Array(frames.drop { isTool($0.object) }.prefix(1)) : frames
        guard let frame = suspects.first(where: { $0.object == plugin }) else { return nil }
        let what = error.components(between: "<what>", and: "</what>").first.map(String.init)
        let place = frame.file.isEmpty ? "" : " (\(frame.file):\(frame.line))"
        return MemoryFault(
            what: isLeak ? nil : what ?? String(kind),
            place: (frame.function.isEmpty ? "?" : frame.function) + place)
    }

    private static func isTool(_ object: String) -> Bool {
        let name = object.split(separator: "/").last ?? ""
        return name.hasPrefix("vgpreload") || name.hasPrefix("libc.") || name.hasPrefix("libc-")
            || name.hasPrefix("libstdc++") || name.hasPrefix("libswift")
    }
}

extension StringProtocol where SubSequence == Substring {
    /// The texts between pairs of marks.
    fileprivate func components(between start: String, and end: String) -> [Substring] {
        var out: [Substring] = []
        for part in self[...].split(separator: start).dropFirst(hasPrefix(start) ? 0 : 1) {
            if let inner = part.split(separator: end, omittingEmptySubsequences: false).first {
                out.append(inner)
            }
        }
        return out
    }
}
