-- Every host that ever stored events under this database, by the name in its data directory.
CREATE TABLE host (
    name text PRIMARY KEY,
    -- Where the other hosts reach it; null: it does not want to be reached, and is alone.
    url text,
    started_at timestamptz NOT NULL DEFAULT now(),
    -- The last sign of life; null: it was stopped in order.
    seen_at timestamptz DEFAULT now(),
    -- Stopped with nothing unconverted on its disk: nobody misses it.
    left_at timestamptz,
    -- Given up by an operator, with whatever is unconverted on its disk.
    dropped_at timestamptz
);

-- One row at most: who does the work that is to be done once for all hosts, and until when.
CREATE TABLE leader (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    host text NOT NULL,
    leased_until timestamptz NOT NULL
);
