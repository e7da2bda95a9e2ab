// swift-tools-version:6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

/// The same strict settings for every target that has Swift code; see the end of this file.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
/// Only SystemdServiceLifecycle needs it; without the trait, users of other libraries do not resolve it.
let lifecycle = Target.Dependency.product(
    name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: .when(traits: ["ServiceLifecycle"]))
/// Only statusd-web needs it; without the trait, nobody else resolves it.
let nio = ["NIOCore", "NIOPosix", "NIOHTTP1"].map {
    Target.Dependency.product(name: $0, package: "swift-nio", condition: .when(traits: ["Web"]))
}
/// A channel without a socket, for tests of statusd-web.
let embedded = Target.Dependency.product(
    name: "NIOEmbedded", package: "swift-nio", condition: .when(traits: ["Web"]))
let deque = Target.Dependency.product(name: "DequeModule", package: "swift-collections")
let heap = Target.Dependency.product(name: "HeapModule", package: "swift-collections")

/// Returns a part of each folder in Sources/Kinds: Settings is the configuration of a source (target SourceKinds), and
/// Source is the code that runs for it (StatusSources).
func kinds(_ part: String) -> [String] {
    [
        "Shared", "Push", "Notify", "Unit", "Units", "Exec", "TCP", "Ping", "DNS", "HTTP", "Certificate", "File",
        "Disk", "Memory", "Pressure", "Load", "Process", "Journal", "Group",
    ].map { "\($0)/\(part)" }
}

let isFuzzing = Context.environment["STATUSD_FUZZING"] != nil

/// The program statusd-web; a library for fuzzing, because SwiftPM links programs only into tests.
let statusWeb: Target = {
    let dependencies: [Target.Dependency] =
        [
            "StatusPlatform", "StatusSupport", "EventLoopIO", "SystemdClient", "Varlink", "StatusModel",
            "StatusMetrics", "StatusInterface", deque,
        ] + nio
    let page = Resource.embedInCode("Page")
    return isFuzzing
        ? .target(name: "StatusWeb", dependencies: dependencies, exclude: ["Main.swift"], resources: [page])
        : .executableTarget(name: "StatusWeb", dependencies: dependencies, resources: [page])
}()

/// The program statusd-mqtt; a library for fuzzing, too.
let statusMQTT: Target = {
    let dependencies: [Target.Dependency] = [
        "StatusPlatform", "StatusSupport", "EventLoopIO", "SystemdClient", "Varlink", "StatusModel", "SourceKinds",
        "StatusInterface", "StatusConfiguration", deque, logging,
    ]
    return isFuzzing
        ? .target(name: "StatusMQTT", dependencies: dependencies, exclude: ["Main.swift"])
        : .executableTarget(name: "StatusMQTT", dependencies: dependencies)
}()

// A target imports only targets above it in this list; CONTRIBUTING.md describes the targets.
let package = Package(
    name: "statusd",
    // NotificationStreams and NotificationStreamsFoundation need Mutex and TaskExecutor; everything else needs Linux.
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "NotificationStreams", targets: ["NotificationStreams"]),
        .library(name: "NotificationStreamsFoundation", targets: ["NotificationStreamsFoundation"]),
        .library(name: "SystemdClient", targets: ["SystemdClient"]),
        .library(name: "SystemdServiceLifecycle", targets: ["SystemdServiceLifecycle"]),
        .library(name: "Varlink", targets: ["Varlink"]),
        .plugin(name: "VarlinkGeneratorPlugin", targets: ["VarlinkGeneratorPlugin"]),
        .executable(name: "statusd", targets: ["StatusDaemon"]),
        .executable(name: "statusctl", targets: ["StatusCommands"]),
    ],
    traits: [
        .trait(name: "ServiceLifecycle", description: "What SystemdServiceLifecycle contains"),
        .trait(name: "Web", description: "What statusd-web contains"),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        // Earlier versions take header fields of any size (CVE-2026-28980).
        .package(url: "https://github.com/apple/swift-nio", from: "2.100.0"),
    ],
    targets: [
        .target(name: "NotificationStreams", dependencies: [deque]),
        .target(name: "NotificationStreamsFoundation", dependencies: ["NotificationStreams"]),
        // No pkgConfig: the module map names the libraries to link.
        .systemLibrary(
            name: "StatusPlatform",
            providers: [
                .apt([
                    "libsystemd-dev", "libsqlite3-dev", "libyaml-dev", "libcurl4-openssl-dev", "libmosquitto-dev",
                ])
            ]),
        .target(name: "StatusSupport", dependencies: ["StatusPlatform"]),
        .target(name: "YAML", dependencies: ["StatusPlatform", "StatusSupport"]),
        .target(name: "EventLoopIO", dependencies: ["StatusPlatform", deque, logging]),
        .target(
            name: "SystemdClient", dependencies: ["StatusPlatform", "StatusSupport", "EventLoopIO", deque, logging]),
        .target(
            name: "SystemdServiceLifecycle", dependencies: ["SystemdClient", lifecycle, logging]),
        .target(name: "VarlinkDescription"),
        // Tests cannot import varlink-generator: SwiftPM would link it twice, because it is also the tool of a plugin.
        .target(name: "VarlinkGeneration", dependencies: ["VarlinkDescription"]),
        .executableTarget(name: "varlink-generator", dependencies: ["VarlinkDescription", "VarlinkGeneration"]),
        .plugin(
            name: "VarlinkGeneratorPlugin", capability: .buildTool(), dependencies: ["varlink-generator"],
            path: "Sources/VarlinkGeneratorPlugin"),
        .target(
            name: "Varlink",
            dependencies: ["StatusPlatform", "StatusSupport", "EventLoopIO", "VarlinkDescription", deque, logging]),
        .target(name: "StatusModel"),
        .target(name: "StatusAlerts", dependencies: ["StatusModel", heap]),
        .target(
            name: "StatusInterface", dependencies: ["EventLoopIO", "Varlink", "StatusModel"],
            plugins: ["VarlinkGeneratorPlugin"]),
        .target(name: "StatusMetrics", dependencies: ["StatusModel", "StatusInterface"]),
        .target(
            name: "SourceKinds", dependencies: ["StatusModel", "StatusSupport", "YAML"],
            path: "Sources/Kinds", exclude: kinds("Source"), sources: kinds("Settings")),
        .target(
            name: "StatusWorkers",
            dependencies: [
                "StatusPlatform", "StatusSupport", "EventLoopIO", "SystemdClient", "Varlink", "StatusModel",
                "SourceKinds",
            ]),
        .target(name: "StatusMonitor", dependencies: ["NotificationStreams", "StatusModel"]),
        .target(
            name: "StatusStore",
            dependencies: ["StatusPlatform", "StatusSupport", "StatusModel", "StatusAlerts", "StatusMonitor"]),
        .target(
            name: "StatusSources",
            dependencies: [
                "StatusPlatform", "NotificationStreams", "EventLoopIO", "SystemdClient", "Varlink", "StatusSupport",
                "StatusModel", "StatusInterface", "SourceKinds", "StatusWorkers", "StatusMonitor", deque, logging,
            ],
            path: "Sources/Kinds", exclude: kinds("Settings"), sources: kinds("Source")),
        .target(
            name: "StatusConfiguration",
            dependencies: ["StatusModel", "StatusAlerts", "SourceKinds", "StatusSupport", "YAML"]),
        .executableTarget(
            name: "StatusDaemon",
            dependencies: [
                "StatusPlatform", "StatusSupport", "NotificationStreams", "EventLoopIO", "SystemdClient", "Varlink",
                "StatusModel", "StatusAlerts", "SourceKinds", "StatusWorkers", "StatusMonitor", "StatusStore",
                "StatusSources", "StatusInterface", "StatusConfiguration", logging,
            ]),
        .executableTarget(
            name: "StatusCommands",
            dependencies: [
                "StatusPlatform", "StatusSupport", "EventLoopIO", "Varlink", "StatusModel", "StatusMetrics",
                "SourceKinds", "StatusInterface", "StatusConfiguration",
            ]),
        statusWeb,
        statusMQTT,
        .target(
            name: "TestSupport", dependencies: ["StatusModel", "StatusMonitor", logging], path: "Tests/Support"),
        // Linked into all tests, which import nothing from it. It has no headers, but the folder must exist.
        .target(name: "CThreadSanitizer", path: "Tests/ThreadSanitizer", publicHeadersPath: "."),
        .testTarget(name: "NotificationStreamsTests", dependencies: ["NotificationStreams", "TestSupport"]),
        .testTarget(
            name: "NotificationStreamsFoundationTests",
            dependencies: ["NotificationStreams", "NotificationStreamsFoundation", "TestSupport"]),
        .testTarget(name: "StatusSupportTests", dependencies: ["StatusSupport"]),
        .testTarget(name: "YAMLTests", dependencies: ["YAML"]),
        .testTarget(name: "EventLoopIOTests", dependencies: ["EventLoopIO", "TestSupport", logging]),
        .testTarget(
            name: "SystemdClientTests",
            dependencies: ["StatusPlatform", "EventLoopIO", "SystemdClient", logging]),
        .testTarget(
            name: "SystemdServiceLifecycleTests",
            dependencies: ["EventLoopIO", "SystemdClient", "SystemdServiceLifecycle", lifecycle, logging]),
        .testTarget(name: "VarlinkDescriptionTests", dependencies: ["VarlinkDescription"]),
        .testTarget(
            name: "VarlinkGenerationTests",
            dependencies: [
                "EventLoopIO", "TestSupport", "Varlink", "VarlinkDescription", "VarlinkGeneration", logging,
            ],
            plugins: ["VarlinkGeneratorPlugin"]),
        .testTarget(
            name: "VarlinkTests", dependencies: ["StatusPlatform", "EventLoopIO", "TestSupport", "Varlink", logging]),
        .testTarget(name: "StatusModelTests", dependencies: ["StatusModel"]),
        .target(
            name: "AlertHistories", dependencies: ["StatusModel", "StatusAlerts"],
            path: "Tests/AlertHistories/Histories"),
        .testTarget(name: "StatusAlertsTests", dependencies: ["StatusModel", "StatusAlerts", "AlertHistories"]),
        .testTarget(name: "StatusMetricsTests", dependencies: ["StatusModel", "StatusMetrics"]),
        .testTarget(name: "StatusWorkersTests", dependencies: ["SourceKinds", "StatusWorkers", "Varlink"]),
        .testTarget(
            name: "StatusMonitorTests",
            dependencies: ["NotificationStreams", "StatusModel", "StatusMonitor", "TestSupport"]),
        .testTarget(
            name: "StatusStoreTests", dependencies: ["StatusModel", "StatusAlerts", "StatusMonitor", "StatusStore"]),
        .testTarget(
            name: "StatusSourcesTests",
            dependencies: [
                "NotificationStreams", "EventLoopIO", "SystemdClient", "StatusModel", "SourceKinds", "StatusMonitor",
                "StatusSources", "TestSupport", "StatusWorkers", "Varlink", "YAML", "StatusDaemon", logging,
            ]),
        .testTarget(
            name: "StatusInterfaceTests", dependencies: ["EventLoopIO", "Varlink", "StatusModel", "StatusInterface"]),
        .testTarget(
            name: "StatusConfigurationTests",
            dependencies: ["StatusModel", "SourceKinds", "StatusAlerts", "StatusConfiguration"]),
        .testTarget(
            name: "StatusDaemonTests",
            dependencies: [
                "StatusPlatform", "EventLoopIO", "Varlink", "StatusModel", "SourceKinds", "StatusMonitor",
                "StatusSources", "StatusInterface", "StatusConfiguration", "StatusDaemon", "TestSupport", logging,
            ]),
        .testTarget(name: "StatusWebTests", dependencies: ["StatusModel", "StatusWeb", "TestSupport", embedded] + nio),
        .testTarget(
            name: "StatusMQTTTests",
            dependencies: ["StatusModel", "StatusInterface", "StatusConfiguration", "StatusMQTT", "Varlink"]),
        .testTarget(
            name: "StatusCommandsTests",
            dependencies: [
                "StatusSupport", "EventLoopIO", "Varlink", "StatusModel", "SourceKinds", "StatusInterface",
                "StatusConfiguration", "StatusCommands", "TestSupport",
            ]),
    ]
)

if !isFuzzing {
    package.products += [
        .executable(name: "statusd-web", targets: ["StatusWeb"]),
        .executable(name: "statusd-mqtt", targets: ["StatusMQTT"]),
    ]
}

// The benchmarks are built only by Tests/Benchmarks/run.
if Context.environment["STATUSD_BENCHMARKS"] != nil {
    package.targets.append(
        .executableTarget(
            name: "InProcessBenchmarks",
            dependencies: ["NotificationStreams", "StatusInterface", "StatusModel", "StatusMonitor", "Varlink"],
            path: "Tests/Benchmarks/InProcess"))
}

// The random histories of alerts are run with the optimiser only by packaging/test.
if Context.environment["STATUSD_HISTORIES"] != nil {
    package.targets.append(
        .executableTarget(
            name: "alert-histories", dependencies: ["AlertHistories"], path: "Tests/AlertHistories/Run"))
}

// Varlink's certification and the example with swift-service-lifecycle are built only by packaging/test. As separate
// packages, they would take a minute longer to build.
if Context.environment["STATUSD_CERTIFICATION"] != nil {
    package.targets += [
        .executableTarget(
            name: "varlink-certification", dependencies: ["EventLoopIO", "Varlink", logging],
            path: "Tests/Certification", plugins: ["VarlinkGeneratorPlugin"]),
        .executableTarget(
            name: "service-example",
            dependencies: [
                "SystemdServiceLifecycle", lifecycle, logging,
                .product(
                    name: "UnixSignals", package: "swift-service-lifecycle",
                    condition: .when(traits: ["ServiceLifecycle"])),
            ],
            path: "Tests/Examples/Service"),
    ]
}

// The fuzzing targets are built only by Tests/Fuzzing/run and packaging/test, with the address sanitizer. The code that
// they run then tells libFuzzer what an input reaches.
let coverage = "-sanitize-coverage=edge,indirect-calls,trace-cmp,inline-8bit-counters,pc-table"
if isFuzzing {
    package.targets += [
        .target(name: "FuzzingDriver", path: "Tests/Fuzzing/Driver"),
        // The driver contains its main function.
        .executableTarget(
            name: "Fuzzing",
            dependencies: [
                "FuzzingDriver", "YAML", "StatusSupport", "EventLoopIO", "VarlinkDescription", "VarlinkGeneration",
                "Varlink", "StatusModel", "SourceKinds", "StatusWorkers", "StatusMonitor", "StatusStore",
                "StatusSources", "StatusInterface", "StatusConfiguration", "StatusWeb", "StatusMQTT", embedded,
            ] + nio,
            path: "Tests/Fuzzing/Targets", swiftSettings: [.unsafeFlags(["-parse-as-library"])],
            linkerSettings: [.unsafeFlags(["-sanitize=fuzzer"])]),
    ]
}

for target in package.targets where ![.system, .plugin].contains(target.type) {
    if ["CThreadSanitizer", "FuzzingDriver"].contains(target.name) { continue }
    target.swiftSettings = settings + (target.swiftSettings ?? [])
    if isFuzzing && target.type != .test { target.swiftSettings?.append(.unsafeFlags([coverage])) }
}
for target in package.targets where target.type == .test { target.dependencies.append("CThreadSanitizer") }
