package import SignalboxConfig
package import SignalboxCore
package import SignalboxStore
internal import SignalboxThreads

extension GatewayOptions {
    /// Opens the data folder for an operator's command while no gateway uses it. Creates nothing.
    package func existingStore(_ config: GatewayConfig?) throws(StoreError) -> SQLiteStore {
        let folder = dataFolder ?? config?.dataPath ?? "data"
        var options = SQLiteStore.Options(
            folder: folder, nowUnixMs: { SystemClock.unixMs }, onNotice: { _ in })
        options.mustExist = true
        return try SQLiteStore.open(options)
    }
}
