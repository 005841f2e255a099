-- A dataset that went by arrival can be given its events' own time (models/event_time.py). The column of that time is new,
-- and may have to be stored under another name; what had the field's name before is where times of old rows are read.
ALTER TABLE dataset ADD COLUMN time_stored text;
ALTER TABLE dataset ADD COLUMN times_from text;
