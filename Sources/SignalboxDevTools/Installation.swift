internal import Glibc

/// Where the running program was installed, if it was.
public enum Installation {
    /// The folder that holds the program's file.
    static var programFolder: String {
        let program = absolute("/proc/self/exe") ?? "."
        return program.lastIndex(of: "/").map { String(program[..<$0]) } ?? "."
    }

    /// A file or folder of `share/signalbox`; nil if there is none, as beside a program that is not installed.
    public static func shared(_ name: String) -> String? {
        absolute("\(programFolder)/../share/signalbox/\(name)")
    }

    /// A file of the working folder, or the installed one of that name if there is only that.
    public static func hereOrShared(_ name: String) -> String {
        absolute(name) == nil ? shared(name) ?? name : name
    }

    /// The real path of something that exists.
    static func absolute(_ path: String) -> String? {
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(cString: real)
    }
}
