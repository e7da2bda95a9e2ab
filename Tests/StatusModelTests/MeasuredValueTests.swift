// SPDX-License-Identifier: Apache-2.0

import StatusModel
import Testing

@Suite struct MeasuredValueTests {
    @Test(
        "values are shown in units for people",
        arguments: [
            (71.4, "%", "71%"), (0.31, "%", "0.3%"), (9.97, "%", "10%"), (100, "%", "100%"), (0, "%", "0%"),
            (28e9, "B", "28 GB"), (5.24e9, "B", "5.2 GB"), (999_600, "B", "1 MB"), (512, "B", "512 B"),
            (1.5e19, "B", "1.5e+19B"), (0.0008, "s", "0.8 ms"), (0.00004, "s", "0.04 ms"), (0.7404, "s", "740 ms"),
            (1.24, "s", "1.2 s"), (300, "s", "300 s"), (3, "", "3"), (0.455, "", "0.46"), (-2.5, "", "-2.5"),
            (5e17, "", "5e+17"), (-9.9e17, "s", "-9.9e+17s"), (8e16, "", "80000000000000000"),
            (7, "c", "7 c"), (12.06, "", "12.06"),
        ])
    func text(value: Double, unit: String, text: String) { #expect(MeasuredValue.text(value, unit) == text) }

    @Test(
        "one value can be read from performance data without the others",
        arguments: ["a", "b'c", "d e", "x 'a", "f", ""])
    func named(_ name: String) {
        let values = ["d e", "x 'a", "b'c", "a", "f="].map { MeasuredValue($0, 7, "B", warning: 9) }
        #expect(MeasuredValue(name, inPerformanceData: values.performanceData) == values.first { $0.name == name })
    }

    @Test(
        "small changes are near",
        arguments: [
            (3.0, 3.9, "%", true), (3, 4, "%", false), (71, 78, "%", true), (71, 80, "%", false),
            (0.002, 0.019, "s", true), (0.002, 0.021, "s", false),
            (0.1, 0.19, "s", true), (0.1, 0.2, "s", false), (100, 109, "B", true), (100, 115, "B", false),
            (0, 0, "", true), (0, 1, "", false), (3, 4, "", false),
            (0.02, 0.2, "", true), (0.4, 0.7, "", false), (9, 9.5, "", true), (20.5, 22, "", true),
        ])
    func near(first: Double, second: Double, unit: String, isNear: Bool) {
        #expect(MeasuredValue("a", first, unit).isNear(MeasuredValue("a", second, unit)) == isNear)
        #expect(!MeasuredValue("a", first, unit).isNear(MeasuredValue("b", first, unit)))
    }

    @Test("performance data of plugins become values; what has another form is left out")
    func performanceData() {
        func values(_ data: String) -> [MeasuredValue] { [MeasuredValue](performanceData: data) }
        #expect(
            values("/=2643MB;5948;5958;0;5968 'C:\\ it''s free'=12.5% load1=0.260;15.000;30.000;0;") == [
                MeasuredValue("/", 2643, "MB", warning: 5948, critical: 5958),
                MeasuredValue("C:\\ it's free", 12.5, "%"),
                MeasuredValue("load1", 0.26, warning: 15, critical: 30),
            ])
        #expect(values("time=0.012s;@5:10;~:3;0") == [MeasuredValue("time", 0.012, "s")])
        #expect(values("users=U a b= =3 'x'2").isEmpty)
        #expect(values("temperature=-4.5C;;-10") == [MeasuredValue("temperature", -4.5, "C", critical: -10)])
        #expect(values((0..<100).map { "v\($0)=\($0)" }.joined(separator: " ")).count == 32)
    }

    @Test("values can be written as performance data and read again")
    func roundTrip() {
        let values = [
            MeasuredValue("it's = full", 71.4, "%", warning: 85, critical: 95), MeasuredValue("free", 1e15, "B"),
            MeasuredValue("time", 0.00012, "s", critical: 0.5), MeasuredValue("days", -3, warning: 14),
        ]
        #expect([MeasuredValue](performanceData: values.performanceData) == values)
    }
}
