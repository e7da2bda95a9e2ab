// SPDX-License-Identifier: Apache-2.0

#if Web
import NIOCore
import NIOHTTP1
import StatusInterface
import StatusModel
import Varlink

// Lists of servers, and badges. Of a hub, statusd-web does not have all servers, and asks the daemon.
extension API {
    /// All servers, or another host and its servers.
    func list() {
        guard let text = target["host"] else {
            if site.servers?.isHub != true { return call("List", NoMembers()) }
            return send(.text(.payloadTooLarge, "there are too many servers; ask for those of a host: list?host=NAME"))
        }
        guard let host = ServerName(text) else { return send(invalid("the name of a host \(ServerName.rule)")) }
        call("List", MonitorInterface.ListParameters(host: host))
    }

    /// The picture of a server's level.
    func badge(_ file: String) {
        guard file.hasSuffix(".svg"), let name = ServerName(String(file.dropLast(4))) else {
            return send(.text(.notFound, "there is no such badge; its address is badge/NAME.svg"))
        }
        guard let servers = site.servers, servers.states[name] == nil, servers.contains(name) else {
            let state = site.servers?.states[name]
            return send(Badge(name, state, isLive: site.servers != nil).response)
        }
        // Of a hub, not all servers are here.
        var state: ServerState?
        perform([message("Describe", MonitorInterface.DescribeParameters(server: name.rawValue))]) { reply in
            let found: MonitorInterface.DescribeReply? = Self.read(reply)
            state = found?.server
        } then: {
            send(Badge(name, state, isLive: true).response)
        }
    }
}
#endif
