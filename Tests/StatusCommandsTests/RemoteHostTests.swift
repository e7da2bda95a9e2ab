// SPDX-License-Identifier: Apache-2.0

import EventLoopIO
import Testing
import Varlink

@testable import StatusCommands

@Suite("Other hosts") struct RemoteHostTests {
    @Test(
        "a host's name cannot be an option of ssh or a command of a shell",
        arguments: [
            "", "-oProxyCommand=x", "a b", "root@-x", "ssh://-oProxyCommand=x", "a;b", "a$(b)", "a'b", "a\nb", "a,b",
            "müller",
        ])
    func refused(name: String) { #expect(RemoteHost(name) == nil) }

    @Test(
        "hosts are names, numbers, aliases and addresses",
        arguments: ["web1", "root@web1.example.org", "192.0.2.1", "::1", "ssh://root@web1:2222", "web_1"])
    func accepted(name: String) { #expect(RemoteHost(name)?.name == name) }

    @Test("a host that is named twice is asked once, at its first position")
    func twice() throws {
        let hosts = try RemoteHost.list("b,root@a,b,a,root@a")
        #expect(hosts.map(\.name) == ["b", "root@a", "a"])
    }

    @Test("a retry neither prompts nor writes messages; the daemon's address on the host is quoted for its shell")
    func arguments() throws {
        var host = try #require(RemoteHost("root@web1"))
        host.address = .path("/run/it's here")
        #expect(
            host.bridgeArguments(isRetry: false)
                == ["-xT", "--", "root@web1", #"statusctl bridge --end-with-input --address 'unix:/run/it'\''s here'"#])
        host.address = .path("/x\u{600}'; id #\u{301}")
        #expect(host.bridgeArguments(isRetry: false).last?.unicodeScalars.count { $0 == "'" } == 5)
        #expect(host.bridgeArguments(isRetry: true).starts(with: ["-q", "-o", "BatchMode=yes"]))
    }
}
