internal import SignalboxCore

/// The calls of a plugin's process: `RemoteServices` makes them, and `HostCallServer` answers them.
enum HostCalls {
    static let now = HostCall<UInt64>(.now) { caller throws(PluginFault) in
        caller.services.nowUnixMs
    }

    static let sign = HostCall<[UInt8], SignAlgorithm, [UInt8], [UInt8]>(.sign) {
        caller, algorithm, key, data throws(PluginFault) in
        try caller.services.sign(algorithm, key: key, data: data)
    }

    static let verify = HostCall<Bool, SignAlgorithm, [UInt8], [UInt8], [UInt8]>(.verify) {
        caller, algorithm, key, data, signature throws(PluginFault) in
        try caller.services.verify(algorithm, key: key, data: data, signature: signature)
    }

    static let publicKey = HostCall<[UInt8], PublicKeyForm, [UInt8]>(.publicKey) {
        caller, form, key throws(PluginFault) in
        try caller.services.publicKey(form, key: key)
    }

    static let utcOffset = HostCall<Int32?, String, UInt64>(.utcOffset) {
        caller, zone, unixMs throws(PluginFault) in
        caller.services.utcOffset(zone: zone, unixMs: unixMs)
    }

    static let certificate = HostCall<PluginCertificate, [UInt8], [UInt8]?>(.certificate) {
        caller, bytes, password throws(PluginFault) in
        try caller.services.certificate(bytes, password: password)
    }

    static let identity = HostCall<SendEndpoint.ClientIdentity, [UInt8], [UInt8]?>(.identity) {
        caller, bytes, password throws(PluginFault) in
        let made = try caller.services.identity(bytes, password: password)
        return SendEndpoint.ClientIdentity(certificate: made.certificate, key: made.key)
    }

    /// Only files of its own secrets.
    static let readFile = HostCall<[UInt8]?, String>(.readFile) {
        caller, path throws(PluginFault) in
        caller.secrets.isFile(path) ? caller.services.readFile(path) : nil
    }

    static let call = LaterHostCall<PluginHTTPAnswer, PluginHTTPCall>(.call) {
        caller, done, call throws(PluginFault) in
        try caller.services.call(call, done: done)
    }

    static let value = LaterHostCall<[UInt8]?, String>(.value) {
        caller, done, key throws(PluginFault) in
        try caller.services.value(instance: caller.name, key: key, done: done)
    }

    static let set = LaterHostCall<WireNothing, String, [UInt8]?, UInt64?>(
        .set,
        isSound: { key, value, _ in
            key.utf8.count <= KVService.keyBytesMax
                && value?.count ?? 0 <= KVService.valueBytesMax
        }
    ) { caller, done, key, value, expiresUnixMs throws(PluginFault) in
        try caller.services.set(
            instance: caller.name, key: key, value: value, expiresUnixMs: expiresUnixMs,
            done: nothing(done))
    }

    static let keys = LaterHostCall<[String], String, String, Int>(
        .keys, isSound: { _, _, limit in (1...Int(KVService.pageMax)).contains(limit) }
    ) { caller, done, prefix, after, limit throws(PluginFault) in
        try caller.services.keys(
            instance: caller.name, prefix: prefix, after: after, limit: limit, done: done)
    }

    static let edit = LaterHostCall<KeyValueEdited, String, KeyValueEdit>(
        .edit, isSound: { $0.utf8.count <= KVService.keyBytesMax && $1.isSound }
    ) { caller, done, key, edit throws(PluginFault) in
        try caller.services.edit(instance: caller.name, key: key, edit, done: done)
    }

    static let devices = LaterHostCall<[Device], String, String>(.devices) {
        caller, done, app, user throws(PluginFault) in
        try caller.services.devices(app: app, user: user, done: done)
    }

    static let device = LaterHostCall<Device?, String, String>(.device) {
        caller, done, app, token throws(PluginFault) in
        try caller.services.device(app: app, token: token, done: done)
    }

    static let change = LaterHostCall<WireNothing, DeviceChange>(
        .change, isSound: { $0.isSound }
    ) { caller, done, change throws(PluginFault) in
        try caller.services.change(instance: caller.name, change, done: nothing(done))
    }

    private static func nothing(
        _ done: @escaping HostAnswer<WireNothing>
    ) -> @Sendable (PluginFault?) -> Void {
        { fault in done(fault.map { .failure($0) } ?? .success(WireNothing())) }
    }
}
