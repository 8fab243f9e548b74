internal import CSignalbox

/// `sbx.send-host/1`.
enum SendHostService {
    static var table: sbx_send_host {
        var table = sbx_send_host()
        table.complete = { host, outcomes, count, stride in
            guard let context = InstanceContext.from(host) else { return }
            context.flights.complete(outcomes, count, stride, context)
        }
        table.credit = { host, room in
            guard room > 0, let context = InstanceContext.from(host) else { return }
            context.flights.credit()
        }
        return table
    }
}
