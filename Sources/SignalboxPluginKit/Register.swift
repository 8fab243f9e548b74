internal import CSignalbox

/// Tells a source's system what happened to its devices.
public protocol RegisterPlugin: Plugin {
    /// Most changes per call; 0 if the host chooses.
    static var maxChanges: Int { get }
    /// The kinds of changes it wants.
    static var changeKinds: Set<ChangeKind> { get }
    /// Where to connect; throw `notFound` if this instance reports nothing.
    func registerEndpoint(app: String) throws(PluginError) -> Endpoint
    /// Renders changes: each ends up in one request or one outcome.
    ///
    /// Thread: several at once; must not block.
    func prepare(_ changes: borrowing ChangeBatch, _ sink: borrowing RequestSink)
        throws(PluginError)
    /// Settles every item of every response.
    ///
    /// Thread: several at once; must not block.
    func classifyChanges(
        _ batch: borrowing ResponseBatch, _ sink: borrowing RequestSink
    ) throws(PluginError)
}

/// The functions of `sbx_register`.
enum RegisterCalls {
    static var table: sbx_register {
        var table = sbx_register()
        table.endpoint = { instance, app, out, error in
            guard let out else { return SBX_E_INTERNAL }
            return role(instance, error) { (plugin: any RegisterPlugin, box) throws(PluginError) in
                let endpoint = try plugin.registerEndpoint(app: app.text)
                SendHTTPCalls.write(endpoint, to: out, box.kept)
            }
        }
        table.prepare = { instance, app, changes, count, stride, sink, error in
            guard let sink else { return SBX_E_INTERNAL }
            return role(instance, error) { (plugin: any RegisterPlugin, _) throws(PluginError) in
                try plugin.prepare(
                    ChangeBatch(changes, count: count, stride: stride, app: app.text),
                    RequestSink(sink))
            }
        }
        table.classify = { instance, responses, count, stride, sink, error in
            guard let sink else { return SBX_E_INTERNAL }
            return role(instance, error) { (plugin: any RegisterPlugin, _) throws(PluginError) in
                try plugin.classifyChanges(
                    ResponseBatch(responses, count: count, stride: stride), RequestSink(sink))
            }
        }
        return table
    }
}
