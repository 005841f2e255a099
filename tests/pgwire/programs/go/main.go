// Asks as programs with pgx do: everything described first, and in binary.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func main() {
	ctx := context.Background()
	connection, err := pgx.Connect(ctx, os.Args[1])
	if err != nil {
		panic(err)
	}
	defer connection.Close(ctx)
	var count int64
	var at time.Time
	row := connection.QueryRow(ctx, "SELECT count(*), max(p_timestamp) FROM app WHERE took > $1 AND level = $2", 100.0, "error")
	if err := row.Scan(&count, &at); err != nil {
		panic(err)
	}
	var tags []string
	var ok bool
	if err := connection.QueryRow(ctx, "SELECT tags, ok FROM app WHERE message = $1", "it's 3").Scan(&tags, &ok); err != nil {
		panic(err)
	}
	batch := &pgx.Batch{}
	batch.Queue("SELECT 1")
	batch.Queue("SELECT count(*) FROM app")
	if err := connection.SendBatch(ctx, batch).Close(); err != nil {
		panic(err)
	}
	var failure *pgconn.PgError
	_, err = connection.Exec(ctx, "SELECT nope FROM app")
	errors.As(err, &failure)
	said, _ := json.Marshal(map[string]any{"count": count, "at": !at.IsZero(), "tags": tags, "ok": ok, "failed": failure.Code})
	fmt.Println(string(said))
}
