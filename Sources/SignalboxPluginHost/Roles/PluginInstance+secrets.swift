internal import CSignalbox
internal import SignalboxCore
internal import SignalboxThreads

/// Files of secrets that change while the plugin runs.
extension PluginInstance {
    /// Takes over what the files hold now, if the plugin can use it. That renews all credentials at once; the existing
    /// values serve until then.
    func rereadSecrets() {
        let look = context.secrets.look(context.services.readFile)
        for name in look.lost {
            log(
                .warn, "the file of a secret is gone or empty; the secret stays in use",
                [Attribute("secret", name)])
        }
        var news = look.news
        for (name, bytes) in news {
            guard let fault = schema?.fault(ofSecret: name, bytes) else { continue }
            refuse([name: bytes], "config.\(name) \(fault)")
            news[name] = nil
        }
        guard !news.isEmpty else { return }
        if let fault = trial(news) { return refuse(news, fault.message) }
        let due = context.secrets.take(news)
        log(
            .info, "reloaded a changed secret file",
            [Attribute("secret", news.keys.sorted().joined(separator: ","))])
        context.credentials.renewAll(nowMs: context.services.nowUnixMs)
        for tell in due {
            // Not after a stop: the watcher may be gone.
            guard context.calls.enter() else { return }
            context.services.onWorker { [context] in
                defer { context.calls.leave() }
                tell()
            }
        }
        context.endpointsChanged()
    }

    private var schema: ConfigSchema? {
        library.descriptor.configSchema.flatMap { try? ConfigSchema.parse($0) }
    }

    /// Keeps the current secrets, and logs it once per change of the files.
    private func refuse(_ news: [String: [UInt8]], _ why: String) {
        context.secrets.refuse(news)
        log(
            .error, "a changed secret file cannot be used; the previous secret stays in use",
            [
                Attribute("secret", news.keys.sorted().joined(separator: ",")),
                Attribute("error", why),
            ])
    }

    /// Creates another instance with the new secrets, as a start would, and destroys it; nil if that works.
    private func trial(_ news: [String: [UInt8]]) -> PluginFault? {
        var secrets = context.secrets.all
        for (name, bytes) in news { secrets[name]?.bytes = bytes }
        let trial = InstanceContext(
            name: name, program: context.program, version: context.version,
            minor: library.table.abi_minor, secrets: secrets, services: context.services,
            lookup: Services.lookup)
        do throws(PluginFault) {
            let raw = try made(for: trial)
            let deadline = SystemClock.monotonicNs + 1_000_000_000
            _ = trial.calls.close(deadlineNs: deadline) && trial.timers.stop(deadlineNs: deadline)
            trial.secrets.endWatches()
            trial.flights.end()
            trial.observer.end()
            CallScope.run(of: trial.owner) { _ in library.table.destroy(raw) }
            return nil
        } catch {
            return error
        }
    }

    private func log(_ level: PluginLogLevel, _ message: String, _ fields: [Attribute]) {
        context.services.log(instance: name, level: level, message: message, fields: fields)
    }
}
