"""The services that the systems call: functions, their results, and what calls leave behind."""
