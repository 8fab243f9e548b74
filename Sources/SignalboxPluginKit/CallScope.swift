internal import CSignalbox

extension Host {
    /// Runs `body` on this thread, the plugin's own, with what is otherwise bound to a role call: `parse`, and the
    /// values of credentials. JSON that it parses lives until `body` returns.
    ///
    /// Throws `stopping` if `body` was not run, else what `body` throws. Thread: any.
    public func scope(_ body: (Host) throws(PluginError) -> Void) throws(PluginError) {
        var result: Result<Void, PluginError>?
        var status: sbx_status?
        withoutActuallyEscaping({
            do throws(PluginError) {
                try body(self)
                result = .success(())
            } catch {
                result = .failure(error)
            }
        }) { work in
            let box = Unmanaged.passRetained(ScopeWork(work))
            status = services.scope.enter?(raw, { ScopeWork.run($0) }, box.toOpaque())
            box.release()
        }
        try check("the instance is stopping") { status }
        try result?.get()
    }
}

/// What runs inside a scope.
private final class ScopeWork {
    let work: () -> Void

    init(_ work: @escaping () -> Void) { self.work = work }

    static func run(_ context: UnsafeMutableRawPointer?) {
        guard let context else { return }
        Unmanaged<ScopeWork>.fromOpaque(context).takeUnretainedValue().work()
    }
}
