// An S3-compatible store in memory for tests, with one bucket: it checks signatures, and prints its address.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/rclone/gofakes3"
	"github.com/rclone/gofakes3/s3mem"
)

func main() {
	if len(os.Args) != 4 {
		log.Fatal("Usage: s3-store BUCKET KEY-ID SECRET")
	}
	store := s3mem.New()
	if err := store.CreateBucket(context.Background(), os.Args[1]); err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s\n", listener.Addr())
	keys := map[string]string{os.Args[2]: os.Args[3]}
	log.Fatal(http.Serve(listener, gofakes3.New(store, gofakes3.WithV4Auth(keys)).Server()))
}
