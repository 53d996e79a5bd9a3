"""What a report says of each paper in five lines, for somebody who has not read the papers."""
