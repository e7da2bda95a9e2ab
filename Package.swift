// swift-tools-version:6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

/// One set of strict settings for every target.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let lifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let deque = Target.Dependency.product(name: "DequeModule", package: "swift-collections")
let heap = Target.Dependency.product(name: "HeapModule", package: "swift-collections")

/// The kinds of sources, each a folder in Sources/StatusSources; what they share is a folder like theirs.
let kinds = ["Shared", "Push", "Notify", "Unit", "Exec", "TCP", "HTTP", "File"]
/// A part of each of these folders: Settings is what a configuration says of a source (target SourceKinds), Source what runs for it
/// (StatusSources), and Tests are the tests of both (StatusSourcesTests).
func folders(_ parts: String...) -> [String] { parts.flatMap { part in kinds.map { "\($0)/\(part)" } } }

// A target imports only targets above it in this list; CONTRIBUTING.md says what may not go into each.
let package = Package(
    name: "statusd",
    products: [
        .library(name: "NotificationStreams", targets: ["NotificationStreams"]),
        .library(name: "NotificationStreamsFoundation", targets: ["NotificationStreamsFoundation"]),
        .library(name: "Systemd", targets: ["Systemd"]),
        .library(name: "Varlink", targets: ["Varlink"]),
        .executable(name: "statusd", targets: ["statusd"]),
        .executable(name: "statusctl", targets: ["statusctl"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        .target(name: "NotificationStreams", dependencies: [deque], swiftSettings: settings),
        .target(
            name: "NotificationStreamsFoundation", dependencies: ["NotificationStreams"], swiftSettings: settings),
        .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
        // No pkgConfig: it would link libcurl, which is loaded when the first http server needs it.
        .systemLibrary(name: "CCurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        // No pkgConfig: it would link the shared library.
        .systemLibrary(name: "CYAML", providers: [.apt(["libyaml-dev"])]),
        .target(name: "YAML", dependencies: ["CYAML"], swiftSettings: settings),
        .target(name: "Suggestions", swiftSettings: settings),
        .target(name: "Arguments", dependencies: ["Suggestions"], swiftSettings: settings),
        .target(name: "CExecutorHooks"),
        .target(
            name: "Systemd", dependencies: ["CExecutorHooks", "CSystemd", deque, heap, logging], swiftSettings: settings
        ),
        .target(name: "Varlink", dependencies: ["Systemd", logging], swiftSettings: settings),
        .target(name: "StatusModel", swiftSettings: settings),
        .target(
            name: "SourceKinds", dependencies: ["StatusModel", "Suggestions", "YAML"],
            path: "Sources/StatusSources", exclude: folders("Source", "Tests"), sources: folders("Settings"),
            swiftSettings: settings),
        .target(
            name: "StatusWorkers", dependencies: ["CSystemd", "Systemd", "Varlink", "SourceKinds"],
            swiftSettings: settings),
        .target(
            name: "CurlRequests",
            dependencies: [
                "CCurl", "CSystemd", "Systemd", "Varlink", "StatusModel", "SourceKinds", "StatusWorkers",
            ],
            swiftSettings: settings),
        .target(name: "StatusMonitor", dependencies: ["NotificationStreams", "StatusModel"], swiftSettings: settings),
        .target(
            name: "StatusSources",
            dependencies: [
                "NotificationStreams", "Systemd", "Varlink", "StatusModel", "SourceKinds", "StatusWorkers",
                "StatusMonitor", deque, logging,
            ],
            exclude: folders("Settings", "Tests"), sources: folders("Source"), swiftSettings: settings),
        .target(
            name: "StatusInterface", dependencies: ["Systemd", "Varlink", "StatusModel"],
            resources: [.embedInCode("org.statusd.monitor.varlink")], swiftSettings: settings),
        .target(
            name: "StatusConfiguration", dependencies: ["StatusModel", "SourceKinds", "Suggestions", "YAML"],
            swiftSettings: settings),
        .target(
            name: "StatusDaemon",
            dependencies: [
                "CSystemd", "NotificationStreams", "Systemd", "Varlink", "StatusModel", "SourceKinds", "StatusWorkers",
                "StatusMonitor", "StatusSources", "StatusInterface", "StatusConfiguration", logging, lifecycle,
            ], swiftSettings: settings),
        .target(
            name: "StatusCommands",
            dependencies: [
                "Arguments", "Systemd", "Varlink", "StatusModel", "SourceKinds", "StatusInterface",
                "StatusConfiguration",
            ],
            swiftSettings: settings),
        .executableTarget(
            name: "statusd",
            dependencies: [
                "Arguments", "Systemd", "StatusWorkers", "CurlRequests", "StatusModel", "StatusSources",
                "StatusInterface", "StatusDaemon",
                logging,
            ],
            swiftSettings: settings),
        .executableTarget(name: "statusctl", dependencies: ["StatusCommands"], swiftSettings: settings),
        .target(
            name: "StatusTestSupport", dependencies: ["StatusModel", "StatusMonitor", logging], swiftSettings: settings),
        .target(name: "NotificationStreamsTestSupport", swiftSettings: settings),
        .testTarget(
            name: "NotificationStreamsTests", dependencies: ["NotificationStreams", "NotificationStreamsTestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "NotificationStreamsFoundationTests",
            dependencies: ["NotificationStreams", "NotificationStreamsFoundation", "NotificationStreamsTestSupport"],
            swiftSettings: settings),
        .testTarget(name: "ArgumentsTests", dependencies: ["Arguments"], swiftSettings: settings),
        .testTarget(name: "YAMLTests", dependencies: ["YAML"], swiftSettings: settings),
        .testTarget(
            name: "SystemdTests", dependencies: ["CSystemd", "Systemd", "StatusTestSupport", logging],
            swiftSettings: settings),
        .testTarget(name: "VarlinkTests", dependencies: ["Systemd", "Varlink", logging], swiftSettings: settings),
        .testTarget(name: "StatusModelTests", dependencies: ["StatusModel"], swiftSettings: settings),
        .testTarget(
            name: "CurlRequestsTests", dependencies: ["CurlRequests"], swiftSettings: settings),
        .testTarget(
            name: "StatusWorkersTests", dependencies: ["SourceKinds", "StatusWorkers", "Varlink"],
            swiftSettings: settings),
        .testTarget(
            name: "StatusMonitorTests",
            dependencies: [
                "NotificationStreams", "NotificationStreamsTestSupport", "StatusModel", "StatusMonitor",
                "StatusTestSupport",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "StatusSourcesTests",
            dependencies: [
                "NotificationStreams", "Systemd", "StatusModel", "SourceKinds", "StatusMonitor", "StatusSources",
                "StatusTestSupport", "StatusWorkers", "Varlink", "YAML", "statusd",
            ],
            path: "Sources/StatusSources", exclude: folders("Settings", "Source"), sources: folders("Tests"),
            swiftSettings: settings),
        .testTarget(
            name: "StatusInterfaceTests", dependencies: ["Systemd", "Varlink", "StatusModel", "StatusInterface"],
            swiftSettings: settings),
        .testTarget(
            name: "StatusConfigurationTests", dependencies: ["StatusModel", "SourceKinds", "StatusConfiguration"],
            swiftSettings: settings),
        .testTarget(
            name: "StatusDaemonTests",
            dependencies: [
                "Systemd", "Varlink", "StatusModel", "SourceKinds", "StatusMonitor", "StatusSources", "StatusInterface",
                "StatusConfiguration", "StatusDaemon", "StatusTestSupport", logging,
            ],
            swiftSettings: settings),
        .testTarget(
            name: "StatusCommandsTests", dependencies: ["StatusModel", "StatusCommands", "Varlink"],
            swiftSettings: settings),
    ]
)

// Nobody needs the benchmarks to build statusd; Tests/Benchmarks/run asks for them.
if Context.environment["STATUSD_BENCHMARKS"] != nil {
    package.targets.append(
        .executableTarget(
            name: "InProcessBenchmarks",
            dependencies: ["NotificationStreams", "StatusInterface", "StatusModel", "StatusMonitor", "Varlink"],
            path: "Tests/Benchmarks/InProcess", swiftSettings: settings))
}
