// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import StatusWorkers

@Suite("The folders that a service does not see") struct HiddenFoldersTests {
    /// The mounts of statusd.service under systemd 257, without those that hide nothing.
    private static let service = HiddenFolders(
        mounts: """
            329 291 8:1 / / ro,relatime shared:45 master:1 - ext4 /dev/sda1 rw
            344 329 0:48 / /run ro,nosuid,nodev shared:75 master:6 - tmpfs tmpfs rw,size=4946344k,mode=755
            367 329 0:61 / /dev ro,nosuid,noexec shared:86 - tmpfs tmpfs rw,size=4096k,nr_inodes=65536,mode=755
            369 367 0:47 / /dev/shm rw,nosuid,nodev shared:88 master:5 - tmpfs tmpfs rw,size=2473172k
            339 367 0:60 / /dev/mqueue rw,nosuid,nodev,noexec,relatime shared:90 - mqueue mqueue rw
            340 329 0:48 /systemd/inaccessible/dir /home ro,nosuid - tmpfs tmpfs rw,size=4946344k,mode=755
            352 344 0:48 /host/inaccessible/dir /run/user ro,nosuid - tmpfs tmpfs rw,size=4946344k,mode=755
            359 329 0:48 /systemd/inaccessible/dir /srv/no ro,nosuid - tmpfs tmpfs rw,size=4946344k,mode=755
            330 329 0:44 / /tmp rw,nosuid,nodev shared:62 master:2 - tmpfs tmpfs rw,size=2473172k
            341 329 0:62 / /proc rw,nosuid,nodev,noexec shared:92 - proc proc rw,hidepid=invisible
            357 330 0:44 /systemd-private-3da7-statusd.service-q0MJlG/tmp /tmp rw shared:63 - tmpfs tmpfs rw
            """)

    @Test(
        "each setting of the service hides its folder",
        arguments: [
            ("/tmp/statusd-missing", "PrivateTmp= of the service hides /tmp"),
            ("/tmp", "PrivateTmp= of the service hides /tmp"),
            ("/dev/statusd-missing", "PrivateDevices= of the service hides /dev"),
            ("/dev/mqueue/statusd-missing", "PrivateDevices= of the service hides /dev"),
            ("/home/statusd-missing", "ProtectHome= of the service hides /home"),
            ("/run/user/statusd-missing", "ProtectHome= of the service hides /run/user"),
            ("/srv/no/statusd-missing", "InaccessiblePaths= of the service hides /srv/no"),
            ("/proc/4194305/stat", "ProtectProc= of the service hides /proc"),
            ("/proc", "ProtectProc= of the service hides /proc"),
        ])
    func hidden(_ path: String, _ reason: String) { #expect(Self.service.reason(for: path) == reason) }

    @Test(
        "other folders are visible",
        arguments: [
            "/dev/shm/statusd-missing", "/run/statusd-missing", "/srv/statusd-missing", "/tmpfiles/a", "/",
            "/proc/statusd-missing", "/proc/sys/statusd-missing",
        ])
    func visible(_ path: String) { #expect(Self.service.reason(for: path) == nil) }

    @Test("a folder of processes alone has no other files")
    func processesAlone() {
        let alone = HiddenFolders(mounts: "1 0 0:61 / /proc rw - proc proc rw,hidepid=invisible,subset=pid")
        #expect(alone.reason(for: "/proc/statusd-a") == "ProtectProc= or ProcSubset= of the service hides /proc")
    }

    @Test("plugins have their own /run")
    func executor() {
        let executor = HiddenFolders(mounts: "1 0 0:61 / /run ro,nodev shared:149 - tmpfs tmpfs rw,mode=755")
        #expect(executor.reason(for: "/run/a") == "TemporaryFileSystem= of the service hides /run")
    }

    @Test("without a sandbox, also in a container, nothing is hidden")
    func host() {
        let host = HiddenFolders(
            mounts: """
                159 135 0:40 / / rw,relatime shared:1 - overlay overlay rw
                160 159 0:44 / /tmp rw,nosuid,nodev shared:2 - tmpfs tmpfs rw,size=2473172k,nr_inodes=409600
                162 159 0:46 / /dev rw,nosuid shared:4 - tmpfs tmpfs rw,size=4096k,nr_inodes=65536,mode=755
                173 159 0:51 / /proc rw,nosuid,nodev,noexec,relatime shared:11 - proc proc rw
                """)
        for path in ["/tmp/a", "/dev/a", "/proc/a", "/home/a"] { #expect(host.reason(for: path) == nil) }
    }
}
