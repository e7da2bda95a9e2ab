# SPDX-License-Identifier: Apache-2.0
"""The fault run: a daemon under load and under seeded faults, and a model of the events that each client must see."""
