module ropewalk.bench

go 1.21
