// SPDX-License-Identifier: Apache-2.0

import SourceKinds
import StatusModel
import Testing

@testable import StatusSources

@Suite("Pressure and load") struct PressureTests {
    private static let text = """
        some avg10=21.00 avg60=3.14 avg300=50.00 total=4372652250
        full avg10=90.00 avg60=90.00 avg300=90.00 total=0

        """

    @Test("settings of pressure are read")
    func settings() throws {
        #expect(try PressureSettings.read("pressure: io").settings == PressureSettings(.io))
        var settings = PressureSettings(.memory)
        (settings.stalled, settings.over) = (Thresholds(warning: 5, critical: 10), .seconds(300))
        let entry = "pressure: { resource: memory, warning: 5%, critical: 10%, over: 5min }"
        #expect(try PressureSettings.read(entry).settings == settings)
        #expect(
            PressureSettings(.io).requirements == [
                .kernelFile("/proc/pressure/io", advice: "this kernel does not measure pressure; boot it with psi=1")
            ])
    }

    @Test(
        "invalid settings of pressure are refused",
        arguments: [
            ("disk", "“pressure” must be cpu, io or memory"),
            ("{ over: 1min }", "“pressure” requires “resource”, such as cpu"),
            ("{ resource: cpu, over: 2min }", "“over” must be 10s, 1min or 5min, which the kernel measures"),
            ("{ resource: cpu, warning: 60% }", "“warning” (60%) must not be above “critical” (50%); set both"),
        ])
    func mistakes(_ value: String, _ reason: String) {
        let problem = #expect(throws: Problem.self) { try PressureSettings.read("pressure: \(value)") }
        #expect(problem?.reason == reason)
    }

    @Test("the line of programs that wait counts, over the chosen time")
    func averages() throws {
        let pressure = try #require(KernelPressure(Self.text))
        var settings = PressureSettings(.io)
        let minute = settings.judge(pressure, load: nil)
        #expect((minute.level, minute.text) == (.ok, "io 3.1% stalled over 1 min"))
        #expect(minute.values == [MeasuredValue("some", 3.14, "%", warning: 20, critical: 50)])
        settings.over = .seconds(10)
        let short = settings.judge(pressure, load: nil)
        #expect((short.level, short.text) == (.warning, "io 21% stalled over 10 s"))
        settings.over = .seconds(300)
        let long = settings.judge(pressure, load: nil)
        #expect((long.level, long.text) == (.critical, "io 50% stalled over 5 min"))
    }

    @Test(
        "a text of another form is not read", arguments: ["", "full avg10=1 avg60=1 avg300=1", "some avg10=1 avg60=x"])
    func otherForm(_ text: String) { #expect(KernelPressure(text) == nil) }

    @Test("the pressure of processors comes with the load of each of them")
    func processors() throws {
        let (pressure, load) = (KernelPressure(Self.text), KernelLoad("0.87 8.0 16 1/240 4711", processors: 2))
        let result = PressureSettings(.cpu).judge(try #require(pressure), load: load)
        #expect(result.text == "cpu 3.1% stalled over 1 min; load 0.4 per processor")
        #expect(result.values[1] == MeasuredValue("load", 0.435))
    }

    @Test("the load is that of one processor, over the chosen time")
    func load() throws {
        let kernel = try #require(KernelLoad("0.87 8.0 16 1/240 4711", processors: 2))
        var settings = LoadSettings()
        #expect(
            settings.judge(kernel)
                == CheckResult(
                    .critical, "load 4 per processor", values: [MeasuredValue("load", 4, warning: 2, critical: 4)]))
        settings.over = .seconds(60)
        #expect(settings.judge(kernel).text == "load 0.4 per processor")
        settings.over = .seconds(900)
        #expect(settings.judge(kernel).text == "load 8 per processor")
        #expect(KernelLoad("0.1 0.2", processors: 2) == nil)
        #expect(KernelLoad("0.1 0.2 x", processors: 2) == nil)
        #expect(KernelLoad.current != nil)
    }

    @Test("settings of load are read; false turns the source off")
    func loadSettings() throws {
        #expect(try LoadSettings.read("load: true").settings == LoadSettings())
        #expect(try LoadSettings.read("load: no").settings == nil)
        var settings = LoadSettings()
        (settings.load, settings.over) = (Thresholds(warning: 0.5, critical: 1), .seconds(60))
        #expect(try LoadSettings.read("load: { warning: 0.5, critical: 1, over: 1min }").settings == settings)
        let mistakes = [
            "2": "“load” must be true, false or a mapping such as “{ warning: 1.5 }”",
            "{ warning: 80% }": "“warning” must be a number such as 1.5, from 0.1 to 1000",
            "{ over: 1h }": "“over” must be 1min, 5min or 15min, which the kernel measures",
            "{ warning: 5 }": "“warning” (5) must not be above “critical” (4); set both",
        ]
        for (value, reason) in mistakes {
            let problem = #expect(throws: Problem.self) { try LoadSettings.read("load: \(value)") }
            #expect(problem?.reason == reason)
        }
    }
}
