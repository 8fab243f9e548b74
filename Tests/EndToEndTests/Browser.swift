import Foundation
import PluginRig
import SignalboxCore
import SignalboxJSON
import Synchronization

/// A headless Chromium with one page, driven through its DevTools protocol over two pipes.
final class Browser: Sendable {
    private struct State {
        var lastID: Int64 = 0
        var waiting: [Int64: CheckedContinuation<JSONValue, any Error>] = [:]
        var complaints: [String] = []
        var hasEnded = false
    }

    private let program: Program
    private let folder: URL
    private let input: Pipe
    private let state = Mutex(State())
    private let session = Mutex("")

    /// Starts one, with an empty page.
    static func start() async throws -> Browser {
        let browser = try Browser()
        let target = try await browser.call(
            "Target.createTarget", #"{"url":"about:blank"}"#)["targetId"]?.string
        let attached = try await browser.call(
            "Target.attachToTarget", #"{"targetId":"\#(target ?? "")","flatten":true}"#)
        browser.session.withLock { $0 = attached["sessionId"]?.string ?? "" }
        for domain in ["Log", "Runtime", "Page"] { try await browser.call("\(domain).enable") }
        return browser
    }

    private init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "browser-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        input = Pipe()
        let (answers, output) = (Pipe(), Pipe())
        program = try Program(
            [
                "chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
                "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe",
                "--user-data-dir=\(folder.path)", "--lang=en",
            ], at: folder, environment: ["HOME": folder.path],
            sockets: [
                input.fileHandleForReading.fileDescriptor,
                answers.fileHandleForWriting.fileDescriptor,
            ], output: output, errors: output)
        try input.fileHandleForReading.close()
        try answers.fileHandleForWriting.close()
        let (said, words) = (answers.fileHandleForReading, output.fileHandleForReading)
        Thread.detachNewThread { while !words.availableData.isEmpty {} }
        Thread.detachNewThread { [weak self] in
            var bytes: [UInt8] = []
            while true {
                let more = said.availableData
                guard !more.isEmpty else { break }
                bytes += more
                while let end = bytes.firstIndex(of: 0) {
                    self?.take(Array(bytes[..<end]))
                    bytes.removeFirst(end + 1)
                }
            }
            self?.fail()
        }
    }

    private func take(_ bytes: [UInt8]) {
        guard let message = try? JSONValue.parse(bytes) else { return }
        if let id = message["id"]?.integer {
            let waiting = state.withLock { $0.waiting.removeValue(forKey: id) }
            if let fault = message["error"] {
                waiting?.resume(throwing: PluginRig.Failure(description: fault.text))
            } else {
                waiting?.resume(returning: message["result"] ?? .null)
            }
            return
        }
        let method = message["method"]?.string ?? ""
        let isComplaint =
            method == "Runtime.exceptionThrown"
            || method == "Log.entryAdded"
                && message["params"]?["entry"]?["level"]?.string == "error"
        if isComplaint {
            state.withLock { $0.complaints.append(message["params"]?.text ?? "") }
        }
    }

    private func fail() {
        let waiting = state.withLock { state in
            defer { state.waiting = [:] }
            state.hasEnded = true
            return Array(state.waiting.values)
        }
        for one in waiting {
            one.resume(throwing: PluginRig.Failure(description: "the browser has ended"))
        }
    }

    /// Errors of scripts, and what the page's policy has forbidden.
    var complaints: [String] { state.withLock { $0.complaints } }

    /// Forgets what was expected.
    func forget() { state.withLock { $0.complaints = [] } }

    @discardableResult
    func call(_ method: String, _ parameters: String = "{}") async throws -> JSONValue {
        let session = session.withLock { $0 }
        let target = session.isEmpty ? "" : #","sessionId":"\#(session)""#
        let input = input.fileHandleForWriting
        return try await withCheckedThrowingContinuation { continuation in
            let id = state.withLock { state -> Int64? in
                guard !state.hasEnded else { return nil }
                state.lastID += 1
                state.waiting[state.lastID] = continuation
                return state.lastID
            }
            guard let id else {
                continuation.resume(throwing: PluginRig.Failure(description: "no browser"))
                return
            }
            let text = #"{"id":\#(id),"method":"\#(method)","params":\#(parameters)\#(target)}"#
            try? input.write(contentsOf: Data(text.utf8 + [0]))
        }
    }

    /// Opens an address in a window of this size.
    func open(
        _ address: String, width: Int = 1_180, height: Int = 900, isDark: Bool = false
    ) async throws {
        let isPhone = width < 600
        try await call(
            "Emulation.setDeviceMetricsOverride",
            #"{"width":\#(width),"height":\#(height),"deviceScaleFactor":1,"mobile":\#(isPhone)}"#)
        let scheme = isDark ? "dark" : "light"
        try await call(
            "Emulation.setEmulatedMedia",
            #"{"features":[{"name":"prefers-color-scheme","value":"\#(scheme)"}]}"#)
        try await call("Page.navigate", #"{"url":"\#(address)"}"#)
    }

    /// The value of a JavaScript expression; a promise is waited for.
    @discardableResult
    func run(_ expression: String) async throws -> JSONValue {
        let text = JSONValue.string(expression).text
        let answer = try await call(
            "Runtime.evaluate",
            #"{"expression":\#(text),"awaitPromise":true,"returnByValue":true}"#)
        if let fault = answer["exceptionDetails"] {
            throw PluginRig.Failure(description: "\(expression): \(fault.text)")
        }
        return answer["result"]?["value"] ?? .null
    }

    /// Waits, at most a minute, until an expression is true.
    func until(_ condition: String) async throws {
        let isTrue = try await run(
            """
            new Promise((done) => {
              const end = Date.now() + 60000;
              const look = () => {
                let is = false;
                try { is = Boolean(\(condition)); } catch { }
                if (is || Date.now() > end) done(is); else setTimeout(look, 20);
              };
              look();
            })
            """)
        guard isTrue == .bool(true) else {
            let shown = try await run("document.body.innerText").string ?? ""
            throw PluginRig.Failure(
                description: "never: \(condition)\n\(shown)\n\(complaints)")
        }
    }

    /// Whether an element of this selector shows a text.
    func sees(_ selector: String, _ text: String) async throws {
        let (selector, text) = (JSONValue.string(selector).text, JSONValue.string(text).text)
        try await until(
            "[...document.querySelectorAll(\(selector))].some((one) => one.innerText.includes(\(text)))"
        )
    }

    /// Presses a key: `Tab`, `Enter`.
    func press(_ key: String) async throws {
        let code = ["Tab": 9, "Enter": 13, " ": 32][key] ?? 0
        let text = ["Enter": #","text":"\r""#, " ": #","text":" ""#][key] ?? ""
        for type in ["keyDown", "keyUp"] {
            try await call(
                "Input.dispatchKeyEvent",
                #"{"type":"\#(type)","key":"\#(key)","code":"\#(key)","windowsVirtualKeyCode":\#(code)\#(type == "keyDown" ? text : "")}"#
            )
        }
    }

    /// Types a text where the focus is.
    func type(_ text: String) async throws {
        try await call("Input.insertText", #"{"text":\#(JSONValue.string(text).text)}"#)
    }

    /// Ends it.
    func end() async {
        kill(program.processIdentifier, SIGKILL)
        _ = try? await Tool.end(program)
        try? FileManager.default.removeItem(at: folder)
    }
}
